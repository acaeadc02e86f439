// The lock between a server's handlers that work on segments (shared: a Pin) and the ranks that withdraw one.
//
// It lies in the node's memory: a segment is withdrawn by a rank of its group, and the server's process may be
// another. A rank that waits to withdraw keeps new pins out, so that a busy server cannot starve it; hence a thread
// holds one Pin at a time. Waits go through the Host and end when the job does: what a death leaves behind needs no
// order.
//
// state:  bit 31        someone waits to withdraw, or does it
//         bits 0 … 30   pins held
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"

namespace grapnel::segment {

class PinLock {
 public:
  /// Carves its word out of the node's memory: every rank of a node constructs it at the same place in the order.
  PinLock(launch::Launch& launch, os::Host& host)
      : launch_(launch), host_(host), state_(launch.node_memory().carve<os::Word>(1).front()) {}
  PinLock(const PinLock&) = delete;
  PinLock& operator=(const PinLock&) = delete;

  /// Cost: one atomic addition when no rank withdraws. Acquire: pairs with the release in `unlock`.
  void lock_shared() {
    while ((state_.fetch_add(1, std::memory_order_acquire) & kWithdrawing) != 0) [[unlikely]] {
        unlock_shared();
        if (wait_while([](std::uint32_t state) { return (state & kWithdrawing) != 0; })) continue;
        state_.fetch_add(1, std::memory_order_relaxed);  // what `unlock_shared` takes back
        return;
      }
  }

  /// Release: the acquire in `lock` sees everything that was done under the pin.
  void unlock_shared() {
    if (state_.fetch_sub(1, std::memory_order_release) == (kWithdrawing | 1)) [[unlikely]]
      host_.wake(state_);
  }

  /// Returns when the last pin taken before is gone; pins asked for later wait, and so does the next to withdraw.
  void lock() {
    while ((state_.fetch_or(kWithdrawing, std::memory_order_acquire) & kWithdrawing) != 0) {
      if (!wait_while([](std::uint32_t state) { return (state & kWithdrawing) != 0; })) return;
    }
    wait_while([](std::uint32_t state) { return state != kWithdrawing; });
  }

  void unlock() {
    state_.fetch_and(~kWithdrawing, std::memory_order_release);
    host_.wake(state_);
  }

 private:
  static constexpr std::uint32_t kWithdrawing = 1u << 31;
  static constexpr int kSpins = 100;

  // Spins shortly, then sleeps; false when the job is ending. Every way out of the state wakes the sleepers, so the
  // limit of the sleep is a net only.
  template <typename Condition>
  bool wait_while(Condition blocked) {
    for (int spin = 0;; ++spin) {
      const std::uint32_t seen = state_.load(std::memory_order_acquire);
      if (!blocked(seen)) return true;
      if (spin < kSpins) {
        host_.relax();
      } else {
        if (!launch_.health().ok()) return false;
        host_.wait(state_, seen, 10 * base::kMillisecond_ns);
      }
    }
  }

  launch::Launch& launch_;
  os::Host& host_;
  os::Word& state_;
};

}  // namespace grapnel::segment
