// Reproducible numbers: the n-th of a seed, in any order and in any process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace app {

/// splitmix64's output function, of the `index`-th state after `seed`.
inline std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// In [0, 1).
inline double random_unit(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(random_word(seed, index) >> 11) * 0x1p-53;
}

}  // namespace app
