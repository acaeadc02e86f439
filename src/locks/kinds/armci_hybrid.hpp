// armci_hybrid: a ticket for ranks at the home, which wait by themselves, and the server's queue for remote ones.
//
// Paper: thesis, 5.1.3: what ARMCI did, and the baseline of its factor of 1.7.
//
// The word, at home: ticket_server.hpp; `away` counts the remote ranks in the server's queue. The server's own memory:
//
//   [waiter: ticket, rank, token, gave up] [waiter] …      in the order of their tickets
//
//                       free                    contended
//   acquire at home     1 compare-and-swap      1 fetch-and-add
//           elsewhere   1 round trip            the same; the answer comes when it is granted
//   release at home     1 store                 1 store; 1 message to the own server where remote ranks wait
//           elsewhere   1 one-way message       the same; hand-off to a remote rank is 2 messages
//
// Spinning: ranks at home on `serving`, then they sleep on it; remote ranks wait for the answer in their
// transport. Order: FIFO by ticket, but one at home who may give up takes no ticket before it is served.
// A holder that dies: the next ticket is not served; waiters see the death between sleeps, and the job ends.
//
// The server and a releaser at home must not miss each other: the server counts a remote rank in `away` before it looks
// at `serving`, the releaser looks at `away` after it stored `serving`; all sequentially consistent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <unordered_map>

#include "locks/kinds/ticket_server.hpp"

namespace grapnel::locks {

class ArmciHybrid final : public Algorithm {
 public:
  explicit ArmciHybrid(LockContext& context) : context_(context), tickets_(context) {}

  bool take_now(const LockId& lock, bool shared) override;
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition& a) override;
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) override;
  progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload,
                           progress::Request& request) override;
  std::string describe(const Acquisition& a) override { return tickets_.describe(a); }
  std::string queue_behind(const LockId& lock, Rank holder) override;

 private:
  enum Stage { kTrying, kWaiting, kAsked };
  enum Flag : std::uint16_t { kFree, kHandedOver, kCancelled };
  struct Waiter {
    std::uint32_t ticket;
    Rank rank;
    std::uint64_t token;
    bool gave_up = false, waits = false;
  };

  static constexpr std::size_t kMostWaiters = 65'536;  ///< of a lock, those included that gave up

  bool may_enter(const LockId& lock, Rank rank);
  void take_answer(Acquisition& a);
  /// Server: grants to remote ranks as long as one of them is served.
  void serve_away(const LockId& lock);
  void grant(const LockId& lock, const Waiter& waiter);
  void cancel(const LockId& lock, std::uint64_t rank);

  LockContext& context_;
  TicketServer tickets_;
  std::unordered_map<std::size_t, std::deque<Waiter>> away_;  ///< by ordinal; the server's thread only
};

}  // namespace grapnel::locks
