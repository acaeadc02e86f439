// Medians of pairs, percentiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace grapnel::bench {

/// One batch of the limit and one of ours, measured one after the other.
struct Pair {
  double limit;
  double ours;
};

/// What a bar bounds: ours divided by the limit, or ours minus the limit.
enum class Compare { ratio, difference };

/// The pair whose ratio (difference) is the median of all; of an even number the lower middle one. A row shows this
/// pair, so that its value, its limit and its ratio were measured together. Needs one pair at least.
Pair middle_pair(std::vector<Pair> pairs, Compare compare);

double median(std::vector<double> values);

/// The value that `fraction` of them do not exceed. Needs one value at least.
double percentile(std::vector<double> values, double fraction);

}  // namespace grapnel::bench
