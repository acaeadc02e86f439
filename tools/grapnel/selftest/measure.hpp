// What an operation takes: its time, and the messages that this rank sends for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "grapnel/runtime.hpp"
#include "selftest/reach.hpp"
#include "selftest/row.hpp"
#include "selftest/scene.hpp"

namespace grapnel::tool::selftest {

struct Cost {
  double us = 0;        ///< the median of batches
  double least_us = 0;  ///< the best batch: what other load on the machine does not show in
  double messages = 0;  ///< sent for one operation
};

/// For some 20 ms, in batches that are long enough for the clock. Errors: the operation's.
Result<Cost> measure(Runtime& runtime, const std::function<Status()>& once);
/// Exactly so often, each timed by itself: for operations in which other ranks take part. Messages of this process's
/// server count, too.
Result<Cost> measure_times(Runtime& runtime, int times, const std::function<Status()>& once);

/// What this machine does without Grapnel: the measure of "slow".
struct Baseline {
  std::optional<Bare> between_nodes;
  double copy_us = 0;  ///< kBulkBytes in memory
};
double measure_copy();

struct Measured {
  std::size_t bytes;
  Between between;
  bool wakes_target;  ///< the target takes part, and may have to be woken
};
/// Writes the cost into the row; of one that is good also "slow", with the remedy, where the best batch is far from the
/// baseline.
void judge(Row& row, const Cost& cost, const Measured& what, const Baseline& baseline);

}  // namespace grapnel::tool::selftest
