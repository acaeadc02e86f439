// On which processors the ranks of a node wait, so that they spread over them where they outnumber them.
//
// Ranks that yield to each other keep their processors busy, so the kernel sees no idle one to move them to: three of
// four ranks may share one of two processors for as long as the job runs, and each barrier takes a round of them all.
// So a rank that has shared its processor for long looks where the others wait, and moves to a processor that has two
// fewer of them.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "os/host.hpp"

namespace grapnel::progress {

class CpuPlaces {
 public:
  /// `cpus`, of node memory, zero at first: 1 + the processor on which each rank of the node waited last. Hints:
  /// relaxed.
  CpuPlaces(std::span<os::Word> cpus, std::size_t mine) : cpus_(cpus), mine_(cpus[mine]) {}

  /// The caller waits there.
  void note(int cpu) {
    const auto now = static_cast<std::uint32_t>(cpu + 1);
    if (mine_.load(std::memory_order_relaxed) != now) mine_.store(now, std::memory_order_relaxed);
  }

  /// Of those that the caller may run on (ascending), the one with the fewest ranks, where it has two fewer than `cpu`.
  std::optional<int> emptier_than(int cpu, std::span<const int> allowed) const {
    if (allowed.empty() || cpu < 0 || cpu > allowed.back()) return std::nullopt;
    std::vector<int> ranks(static_cast<std::size_t>(allowed.back()) + 1);
    for (const os::Word& one : cpus_) {
      const std::uint32_t at = one.load(std::memory_order_relaxed);
      if (at > 0 && at <= ranks.size()) ++ranks[at - 1];
    }
    const auto ranks_at = [&ranks](int one) { return ranks[static_cast<std::size_t>(one)]; };
    const int least =
        *std::min_element(allowed.begin(), allowed.end(), [&](int a, int b) { return ranks_at(a) < ranks_at(b); });
    return ranks_at(least) + 2 <= ranks_at(cpu) ? std::optional(least) : std::nullopt;
  }

  /// Whether it is time to look, and then not soon again.
  bool may_look(std::uint64_t now_ns) {
    if (now_ns < next_look_ns_.load(std::memory_order_relaxed)) return false;
    next_look_ns_.store(now_ns + kBetweenLooks_ns, std::memory_order_relaxed);
    return true;
  }
  /// The caller has moved, or could not: what it gains does not last where it has to do so again and again.
  void moved(std::uint64_t now_ns) {
    const std::uint64_t pause_ns = pause_ns_.load(std::memory_order_relaxed);
    next_look_ns_.store(now_ns + pause_ns, std::memory_order_relaxed);
    pause_ns_.store(std::min(2 * pause_ns, kLongestPause_ns), std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kBetweenLooks_ns = base::kMillisecond_ns;
  static constexpr std::uint64_t kLongestPause_ns = 1000 * base::kMillisecond_ns;

  const std::span<os::Word> cpus_;
  os::Word& mine_;
  std::atomic<std::uint64_t> next_look_ns_{0}, pause_ns_{2 * kBetweenLooks_ns};
};

}  // namespace grapnel::progress
