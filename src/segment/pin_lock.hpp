// The lock between handlers that work on segments (shared: a Pin) and the one who unmaps (exclusive).
//
// An unmapper that waits keeps new pins out, so that a busy server cannot starve it; hence a thread holds one Pin at a
// time. It waits through the Host, never in the C library, so that the simulator sees every wait.
//
// state_:  bit 31        an unmapper waits or works
//          bits 0 … 30   pins held
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.hpp"
#include "os/host.hpp"

namespace grapnel::segment {

class PinLock {
 public:
  explicit PinLock(os::Host& host) : host_(host) {}
  PinLock(const PinLock&) = delete;
  PinLock& operator=(const PinLock&) = delete;

  /// Cost: one atomic addition when nobody unmaps. Acquire: pairs with the release in `unlock`.
  void lock_shared() {
    while ((state_.fetch_add(1, std::memory_order_acquire) & kUnmapper) != 0) [[unlikely]] {
        unlock_shared();
        wait_while([](std::uint32_t state) { return (state & kUnmapper) != 0; });
      }
  }

  /// Release: the unmapper's acquire in `lock` sees everything that was done under the pin.
  void unlock_shared() {
    if (state_.fetch_sub(1, std::memory_order_release) == (kUnmapper | 1)) [[unlikely]]
      host_.wake(state_);
  }

  /// Returns when the last pin taken before is gone; pins asked for later wait. One thread at a time.
  void lock() {
    state_.fetch_or(kUnmapper, std::memory_order_acquire);
    wait_while([](std::uint32_t state) { return state != kUnmapper; });
  }

  void unlock() {
    state_.fetch_and(~kUnmapper, std::memory_order_release);
    host_.wake(state_);
  }

 private:
  static constexpr std::uint32_t kUnmapper = 1u << 31;
  static constexpr int kSpins = 100;

  // Spins shortly, then sleeps. Every way out of the state wakes the sleepers, so the limit of the sleep is a net only.
  template <typename Condition>
  void wait_while(Condition blocked) {
    for (int spin = 0;; ++spin) {
      const std::uint32_t seen = state_.load(std::memory_order_acquire);
      if (!blocked(seen)) return;
      if (spin < kSpins) {
        host_.relax();
      } else {
        host_.wait(state_, seen, 10 * base::kMillisecond_ns);
      }
    }
  }

  os::Host& host_;
  os::Word state_{0};
};

}  // namespace grapnel::segment
