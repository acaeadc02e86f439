// Interleaved measurement: a short batch of the limit, a short batch of ours, and so on, so that whatever else the
// machine does meets both equally.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "statistics.hpp"

namespace grapnel::bench {

std::uint64_t now_ns();
/// Of the same clock.
void sleep_until_ns(std::uint64_t time_ns);
/// Of all threads of this process, since it began.
std::uint64_t processor_time_ns();

/// One of the two sides. `run(count)` does the operation that often; `before` and `after` switch over and are not
/// timed.
struct Side {
  std::function<void(long count)> run;
  std::function<void()> before = [] {};
  std::function<void()> after = [] {};
};

/// A limit that is worse than it can be by more than this factor shows nothing about what was held against it.
inline constexpr double kDisturbed = 2;

struct Plan {
  int pairs;
  long operations;  ///< in a batch
  long warm;        ///< before each batch, not timed: caches, and servers that have to wake up
};

struct Samples {
  void add(const Pair& pair) {
    pairs.push_back(pair);
    if (pair.limit < least_limit) least_limit = pair.limit;
  }
  std::vector<Pair> pairs;     ///< ns per operation
  std::vector<double> ours;    ///< what p99 is taken of: single operations, or batches
  double least_limit = 1e300;  ///< the best that the limit ever showed, in these batches or when its way was chosen
};

/// For operations of nanoseconds: the clock is read around a batch, and the batch counts with its mean.
Samples measure_batches(const Plan& plan, const Side& limit, const Side& ours);

/// For operations of microseconds: the clock is read around each, and the batch counts with its median.
Samples measure_operations(const Plan& plan, const Side& limit, const Side& ours);

/// `unit` is "ns" or "us".
Measurement latency(const Samples& samples, Compare compare, const std::string& unit);
/// GB/s of operations that move `bytes` each.
Measurement bandwidth(const Samples& samples, std::size_t bytes);

/// Which of `ways` can be the fastest: every way `rounds` times in turn, its least time counts.
struct Fastest {
  std::size_t way;
  double least_ns;
};
Fastest fastest(const std::vector<std::function<void()>>& ways, int rounds);

}  // namespace grapnel::bench
