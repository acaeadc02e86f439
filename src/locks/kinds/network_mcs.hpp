// mcs_by_cas in the network domain: a queue of ranks, each of which waits on a word of its own memory.
//
// Paper: mpi2-passive, section 5.2 (MCS; swap emulated by compare-and-swaps; next and flag by RDMA write).
//
// The words, at home     [tail: 0 = free, else place + 1 of the last in the queue]
//        of each member  [flag: 1 = granted][next: place + 1 of the one behind it]   per lock of the set
//
//                       free                    contended
//   acquire             1 compare-and-swap      1 and one per change of the tail in between, 1 put (next)
//   release             1 compare-and-swap      1 put (flag); where the successor is in the tail and not yet linked,
//                                               the compare-and-swap too, and a wait for its put
//
// For ranks at home, too. Spinning: a waiter on its flag, then it sleeps; an adapter's write wakes no thread, so it
// looks again after GRAPNEL_LOCK_BACKOFF_MOST_NS at most, and a releaser of its node wakes it. Order: FIFO by the tail;
// one that may give up enters only an empty queue. A holder that dies: its flag is not written; waiters see the death
// between sleeps, and name the rank that they are behind. So does a releaser whose successor died before it was linked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locks/kinds/network_lock.hpp"

namespace grapnel::locks {

class NetworkMcs final : public NetworkLock {
 public:
  using NetworkLock::NetworkLock;

  std::size_t network_bytes() const override;
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition&) override { return {}; }
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  std::string describe(const Acquisition& a) override;

 private:
  enum Stage { kTrying, kSwapping, kWaiting };
  /// Each of 64 bits, of which the first half changes: this rank looks at it and sleeps on it.
  struct alignas(8) Half {
    os::Word value;
    std::uint32_t unused;
  };
  struct Waiter {
    Half flag, next;
  };

  std::size_t my_place() const { return context_.group->my_index; }
  std::uint64_t my_mark() const { return my_place() + 1; }
  Waiter& waiter(std::size_t place, const LockId& lock) const;
  void reset(const LockId& lock);
  Status swap_tail(Acquisition& a, std::uint64_t until_ns);
  Status wait_until_set(os::Word& word, std::uint64_t until_ns);
};

}  // namespace grapnel::locks
