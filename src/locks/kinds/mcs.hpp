// mcs: a queue of ranks; each waits on a word of its own node, which the one before it changes.
//
// Paper: thesis, 5.2 (software queuing lock); mpi2-passive, section 4.3 (with native swap, and with swap emulated by
// compare-and-swap: `mcs_by_cas`).
//
// The words (mcs_queue.hpp):  at home   [tail: rank + 1, turn]
//                         line      [state][turn][next of even turns][next of odd turns][from]   per rank that used it
//
//                       free                                 contended
//   acquire at home     1 compare-and-swap                   1 and 1 swap, 1 link (a message if the one before is away)
//           elsewhere   1 round trip                         1 round trip, 1 link from the home's server
//   ... by_cas          1 round trip                         1 + how often others came in between, 1 link of its own
//   release at home     1 compare-and-swap                   1 message, the grant (none to a rank of the same node)
//           elsewhere   1 one-way message                    the same
//
// Spinning: a waiter on its line's `state`, in its own node's memory, then it sleeps on it; its node's server
// (or the releaser, where it is of the same node) grants and wakes. Order: FIFO by arrival at the home. One who gives
// up leaves its place; the grant finds it empty and passes on: one more message per empty place. A holder that dies:
// it is not granted; waiters see the death between sleeps, and name the rank that they are behind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locks/kinds/mcs_queue.hpp"

namespace grapnel::locks {

class Mcs final : public Algorithm, private McsQueue::Places {
 public:
  Mcs(LockContext& context, bool has_swap) : context_(context), queue_(context, *this, has_swap) {}

  bool take_now(const LockId& lock, bool shared) override;
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition& a) override;
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  Bytes successor_payload(const LockId& lock) override;
  bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) override {
    return queue_.hear(lock, body, payload, from);
  }
  progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload,
                           progress::Request& request) override {
    return queue_.answer(lock, body, payload, request);
  }
  std::string describe(const Acquisition& a) override { return queue_.describe(a, "its place"); }

 private:
  struct Home {
    std::atomic<std::uint64_t> tail;
  };

  std::atomic<std::uint64_t>& tail(const LockId& lock) override { return context_.memory.home<Home>(lock).tail; }
  void* home_line(const LockId& lock) override { return &context_.memory.home<Home>(lock); }
  McsMember* member(const LockId& lock, std::uint32_t rank) override {
    return context_.memory.find_line<McsMember>(key(lock, rank));
  }
  void* line(const LockId& lock, std::uint32_t rank) override { return member(lock, rank); }
  std::uint32_t member_count() const override { return static_cast<std::uint32_t>(context_.launch.size()); }
  NodeId node_of(std::uint32_t rank) const override { return context_.node_of(Rank(static_cast<int>(rank))); }
  bool speaks_for(Rank rank, std::uint32_t member) const override { return index(rank) == member; }
  std::string name_of(std::uint32_t rank) const override { return fmt::format("rank {}", rank); }

  std::uint64_t key(const LockId& lock, std::uint32_t rank) const { return lock.ordinal * member_count() + rank + 1; }
  std::uint32_t me() const { return static_cast<std::uint32_t>(index(context_.me)); }
  McsMember* my_line(const LockId& lock) { return context_.memory.make_line<McsMember>(key(lock, me())); }

  LockContext& context_;
  McsQueue queue_;
};

}  // namespace grapnel::locks
