// A small seeded generator (splitmix64): tests and the simulator print the seed, and the seed replays the run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace grapnel::base {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); the bias of the modulus is far below what a test can see.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  bool chance(double probability) { return static_cast<double>(next() >> 11) * 0x1p-53 < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace grapnel::base
