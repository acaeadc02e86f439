// Bit for bit: how many doubles differ from the sequential run's, and where the first of them is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace app {

struct Difference {
  std::size_t count = 0;
  std::size_t first = 0;  ///< meaningless where `count` is 0
};

inline Difference compare_bits(std::span<const double> found, std::span<const double> expected) {
  Difference difference;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&found[i], &expected[i], sizeof(double)) == 0) continue;
    if (difference.count++ == 0) difference.first = i;
  }
  return difference;
}

}  // namespace app
