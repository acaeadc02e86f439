// How long to spin before a sleep: it grows while sleeps turn out to be short.
//
// A thread that sleeps adds its wake-up to its wait, and where its partner sleeps then too, each wakes to find
// the other asleep, for ever: with the wake-ups of a virtual machine (up to 500 us) an operation of 20 us takes 500.
// A sleep that was shorter than twice the longest spin should have been a spin: the next spin is twice as long. After a
// longer sleep it is as short as at first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace grapnel::progress {

/// Threads: any; those of a rank share one, and what one learns is good enough for the others.
class SpinBudget {
 public:
  SpinBudget(std::uint64_t least_ns, std::uint64_t most_ns)
      : least_ns_(least_ns), most_ns_(most_ns), length_ns_(least_ns) {}

  /// Of the next spin.
  std::uint64_t length_ns() const { return length_ns_.load(std::memory_order_relaxed); }
  std::uint64_t least_ns() const { return least_ns_; }
  std::uint64_t most_ns() const { return most_ns_; }

  void slept(std::uint64_t duration_ns) {
    const std::uint64_t next_ns = duration_ns < 2 * most_ns_ ? std::min(2 * length_ns(), most_ns_) : least_ns_;
    length_ns_.store(next_ns, std::memory_order_relaxed);
  }

 private:
  const std::uint64_t least_ns_, most_ns_;
  std::atomic<std::uint64_t> length_ns_;  ///< relaxed: a hint
};

}  // namespace grapnel::progress
