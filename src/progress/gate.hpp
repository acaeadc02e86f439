// A count in node memory that ranks wait for: it opens for those that wait when it has come to their number.
//
//   ┌───────────────────────────┬───┐
//   │ count, modulo 2³¹ (31 bit)│ s │   s: a rank sleeps on the word; one that counts it up wakes only then
//   └───────────────────────────┴───┘
//
// Counts are compared by difference, so wrap-around does no harm. A gate is plain memory that is zero at first: count
// 0, no sleeper.
//
// Threads: any, of any rank of the node.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "grapnel/status.hpp"
#include "os/host.hpp"
#include "progress/waiting.hpp"

namespace grapnel::progress {

class Gate {
 public:
  static constexpr std::uint32_t kCountMask = 0x7fffffff;

  /// Without an order: for the thread that alone counts it up.
  std::uint32_t count() const { return word_.load(std::memory_order_relaxed) >> 1; }
  /// Before others know of it.
  void start_at(std::uint32_t count) { word_.store(count << 1, std::memory_order_relaxed); }

  /// Whether it has come to `count`; then all is seen that was stored before it was counted up to there.
  bool has_passed(std::uint32_t count) const {
    return passed(word_.load(std::memory_order_acquire), count);  // pairs with `arrive` and `open`
  }

  /// One more; wakes those that wait for `count` where this one completes it. What is stored before is seen by a rank
  /// that has seen the count, and this rank sees what those did that counted before. Cost: one atomic addition.
  void arrive(os::Host& host, std::uint32_t count) {
    const std::uint32_t before = word_.fetch_add(2, std::memory_order_acq_rel);
    if ((before & 1) != 0 && passed(before + 2, count)) wake(host);
  }

  /// One more, by the only thread that counts it up; wakes.
  void open(os::Host& host) {
    // release: pairs with the acquire of those that wait, which then see what was stored before.
    const std::uint32_t old = word_.exchange((count() + 1) << 1, std::memory_order_acq_rel);
    if ((old & 1) != 0) host.wake(word_);
  }

  /// Returns when it has come to `count`. `describe`: Waiting::on_worker. Errors: peer_dead.
  template <typename Describe>
  Status wait(Waiting& waiting, std::uint32_t count, Describe describe) {
    return waiting.on_marked_word(
        word_, [count](std::uint32_t seen) { return passed(seen, count); },
        [this](std::uint32_t& seen) {
          if ((seen & 1) != 0) return true;
          // acq_rel: `open` and `arrive` either see the mark, or have changed the word.
          const bool marked = word_.compare_exchange_strong(seen, seen | 1, std::memory_order_acq_rel);
          if (marked) seen |= 1;
          return marked;
        },
        Waiting::kForever, describe);
  }

 private:
  // With the sleeper's bit: it makes no number below 0 one above.
  static bool passed(std::uint32_t word, std::uint32_t count) {
    return static_cast<std::int32_t>(word - (count << 1)) >= 0;
  }
  // A rank that has marked the word for a later count by then is woken in vain, or finds another value and does not
  // sleep.
  void wake(os::Host& host) {
    word_.fetch_and(~std::uint32_t{1}, std::memory_order_relaxed);
    host.wake(word_);
  }

  os::Word word_;
};

}  // namespace grapnel::progress
