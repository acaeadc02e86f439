// SPDX-License-Identifier: Apache-2.0
#include "pairs.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace grapnel::bench {
namespace {

double time_batch(const Plan& plan, const Side& side) {
  side.before();
  side.run(plan.warm);
  const std::uint64_t begin_ns = now_ns();
  side.run(plan.operations);
  const std::uint64_t end_ns = now_ns();
  side.after();
  return static_cast<double>(end_ns - begin_ns) / static_cast<double>(plan.operations);
}

std::vector<double> time_each(const Plan& plan, const Side& side) {
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(plan.operations));
  side.before();
  side.run(plan.warm);
  for (long i = 0; i < plan.operations; ++i) {
    const std::uint64_t begin_ns = now_ns();
    side.run(1);
    times.push_back(static_cast<double>(now_ns() - begin_ns));
  }
  side.after();
  return times;
}

}  // namespace

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void sleep_until_ns(std::uint64_t time_ns) {
  const timespec time{.tv_sec = static_cast<time_t>(time_ns / 1'000'000'000),
                      .tv_nsec = static_cast<long>(time_ns % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

std::uint64_t processor_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

Samples measure_batches(const Plan& plan, const Side& limit, const Side& ours) {
  Samples samples;
  for (int i = 0; i < plan.pairs; ++i) {
    const double limit_ns = time_batch(plan, limit);
    const double ours_ns = time_batch(plan, ours);
    samples.add({limit_ns, ours_ns});
    samples.ours.push_back(ours_ns);
  }
  return samples;
}

Samples measure_operations(const Plan& plan, const Side& limit, const Side& ours) {
  Samples samples;
  for (int i = 0; i < plan.pairs; ++i) {
    const double limit_ns = median(time_each(plan, limit));
    const std::vector<double> ours_ns = time_each(plan, ours);
    samples.add({limit_ns, median(ours_ns)});
    samples.ours.insert(samples.ours.end(), ours_ns.begin(), ours_ns.end());
  }
  return samples;
}

Measurement latency(const Samples& samples, Compare compare, const std::string& unit) {
  const double scale = unit == "ns" ? 1 : 1e-3;
  const Pair middle = middle_pair(samples.pairs, compare);
  Measurement m{.name = {}, .unit = unit};
  m.value = middle.ours * scale;
  m.limit = middle.limit * scale;
  m.runs = static_cast<int>(samples.pairs.size());
  m.disturbed = middle.limit > kDisturbed * samples.least_limit;
  m.p99 = percentile(samples.ours, 0.99) * scale;
  return m;
}

Measurement bandwidth(const Samples& samples, std::size_t bytes) {
  const Pair middle = middle_pair(samples.pairs, Compare::ratio);
  Measurement m{.name = {}, .unit = "GB/s", .better = Better::higher};
  m.value = static_cast<double>(bytes) / middle.ours;
  m.limit = static_cast<double>(bytes) / middle.limit;
  m.disturbed = middle.limit > kDisturbed * samples.least_limit;
  m.runs = static_cast<int>(samples.pairs.size());
  return m;
}

Fastest fastest(const std::vector<std::function<void()>>& ways, int rounds) {
  std::vector<std::uint64_t> least_ns(ways.size(), UINT64_MAX);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      ways[i]();
      const std::uint64_t begin_ns = now_ns();
      ways[i]();
      least_ns[i] = std::min(least_ns[i], now_ns() - begin_ns);
    }
  }
  const auto best = std::min_element(least_ns.begin(), least_ns.end());
  return {static_cast<std::size_t>(best - least_ns.begin()), static_cast<double>(*best)};
}

}  // namespace grapnel::bench
