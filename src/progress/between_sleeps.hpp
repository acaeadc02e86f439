// A library that makes progress only while it is called (MPI), beside waits of ours.
//
// While a BetweenSleeps lives, the waits of its thread sleep in pieces and call `run` after each. Such a library seldom
// keeps work back, and not for long, so the pieces grow from 1 ms to 16 ms. A wait that its spin ends costs
// nothing more.
// Threads: each has its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.hpp"

namespace grapnel::progress {

class BetweenSleeps {
 public:
  /// `run()` is called without an argument, returns nothing, and lives as long as this. The innermost one counts.
  template <typename Run>
  explicit BetweenSleeps(const Run& run)
      : call_([](const void* context) { (*static_cast<const Run*>(context))(); }), context_(&run), outer_(current) {
    current = this;
  }
  ~BetweenSleeps() { current = outer_; }
  BetweenSleeps(const BetweenSleeps&) = delete;
  BetweenSleeps& operator=(const BetweenSleeps&) = delete;

  /// The calling thread's, or null.
  static BetweenSleeps* of_this_thread() { return current; }

  std::uint64_t piece_ns() const { return piece_ns_; }
  /// After a sleep.
  void run() {
    piece_ns_ = std::min(2 * piece_ns_, kLongest_ns);
    call_(context_);
  }

 private:
  static constexpr std::uint64_t kLongest_ns = 16 * base::kMillisecond_ns;

  void (*const call_)(const void* context);
  const void* const context_;
  std::uint64_t piece_ns_ = base::kMillisecond_ns;
  BetweenSleeps* const outer_;
  // As WaitScope::current (wait_record.hpp).
  [[gnu::tls_model("initial-exec")]] static constinit thread_local BetweenSleeps* current;
};

}  // namespace grapnel::progress
