// A word of a page that one rank of a node takes, or the node's server where it is free.
//
// Threads: any, of any rank of the node, and the node's server, which only tries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/check.hpp"
#include "os/host.hpp"
#include "progress/waiting.hpp"

namespace grapnel::dsm {

struct PageLock {
  os::Word word;  ///< 0: free, 1: taken, 2: taken, and ranks sleep

  bool is_taken() const { return word.load(std::memory_order_acquire) != 0; }
  bool try_take() {
    std::uint32_t free = 0;
    return word.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Waits until it is free, and then the caller's. Errors: peer_dead.
  Status take(progress::Waiting& waiting, std::size_t page);
  void give_back(os::Host& host) {
    const std::uint32_t before = word.exchange(0, std::memory_order_release);
    GRAPNEL_ASSERT(before != 0, "a page is given back (the word is {}) that no rank had taken", before);
    if (before == 2) host.wake(word);
  }
};

}  // namespace grapnel::dsm
