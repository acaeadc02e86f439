// A mutex of the ranks of a node, in node memory, for tables that they change seldom and shortly (the places that have
// words of their own instead: docs/decisions/node-locks.md).
//
//   word   0 = free, 1 = held, 2 = held, and ranks sleep
//
// A death ends the job: a mutex whose holder died is not recovered, its waiters answer the death.
//
// Threads: any, of any rank of the node.
// Source: U. Drepper, Futexes Are Tricky, section 5.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"

namespace grapnel::launch {

class NodeMutex {
 public:
  /// Holds the mutex, which outlives it.
  class Guard {
   public:
    Guard(Guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard() {
      if (mutex_ != nullptr) mutex_->unlock();
    }

   private:
    friend class NodeMutex;
    explicit Guard(NodeMutex& mutex) : mutex_(&mutex) {}
    NodeMutex* mutex_;
  };

  /// `word` lies in node memory, and is zero at first.
  NodeMutex(Launch& launch, os::Host& host, os::Word& word) : launch_(launch), host_(host), word_(word) {}

  /// Waits until the mutex is free: spins shortly, then sleeps. What was written under it before is visible. Errors:
  /// peer_dead; then the caller does not hold it. Cost: one compare-and-swap where it is free, and one exchange later.
  Result<Guard> lock();

 private:
  void unlock();

  Launch& launch_;
  os::Host& host_;
  os::Word& word_;
};

}  // namespace grapnel::launch
