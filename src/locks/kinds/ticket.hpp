// ticket: every rank takes a number and waits until it is served.
//
// Paper: thesis, 5.1.2 and the first half of 5.1.3 (fetch-and-increment, local polling; remote polling with gets).
//
// The word, at home: ticket_server.hpp. Nothing anywhere else.
//
//                       free                             contended
//   acquire at home     1 compare-and-swap               1 fetch-and-add
//           elsewhere   1 round trip                     1 round trip, then one per look
//   release at home     1 store                          1 store, 1 wake-up
//           elsewhere   1 one-way message                the same
//
// Spinning: ranks at home on `serving` (all on one word, then they sleep on it); remote ranks by reading it
// through the server, with a pause that grows with their distance from the head of the line: about
// GRAPNEL_LOCK_BACKOFF_NS per rank before them. Hand-off to a remote rank takes its pause and one round trip.
// Order: FIFO by ticket. One who may give up takes no ticket before it is served, so it has no place in the line.
// A holder that dies: the next ticket is not served; waiters see the death between sleeps, and the job ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locks/kinds/ticket_server.hpp"

namespace grapnel::locks {

class Ticket final : public Algorithm {
 public:
  explicit Ticket(LockContext& context) : context_(context), tickets_(context) {}

  bool take_now(const LockId& lock, bool shared) override;
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition&) override { return {}; }
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) override;
  progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload,
                           progress::Request& request) override;
  std::string describe(const Acquisition& a) override { return tickets_.describe(a); }
  std::string queue_behind(const LockId& lock, Rank holder) override {
    const TicketWords& words = tickets_.words(lock);
    if (!tickets_.is_held_by(words, holder)) return {};
    return fmt::format("its ticket is rank {}'s; {} stand behind it", index(holder),
                       words.next.load() - words.serving.load() - 1);
  }

 private:
  enum Stage { kTrying, kWaiting, kReading, kPausing };
  Status read_until_served(Acquisition& a, std::uint64_t until_ns);
  void take_answer(Acquisition& a);

  LockContext& context_;
  TicketServer tickets_;
};

}  // namespace grapnel::locks
