// SPDX-License-Identifier: Apache-2.0
#include "statistics.hpp"

#include <algorithm>
#include <cmath>

namespace grapnel::bench {

Pair middle_pair(std::vector<Pair> pairs, Compare compare) {
  const auto key = [compare](const Pair& pair) {
    return compare == Compare::ratio ? pair.ours / pair.limit : pair.ours - pair.limit;
  };
  const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>((pairs.size() - 1) / 2);
  std::nth_element(pairs.begin(), middle, pairs.end(),
                   [&](const Pair& one, const Pair& other) { return key(one) < key(other); });
  return *middle;
}

double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

double percentile(std::vector<double> values, double fraction) {
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace grapnel::bench
