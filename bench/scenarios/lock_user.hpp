// The lock that a rank measures, and what its measurements share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "scenarios/lock_metrics.hpp"

namespace grapnel::bench {

/// Results of one rank; those of all ranks are added.
using LockNumbers = std::array<double, BoardPage::kNumbers>;

/// Acquires and releases in the mode that is measured.
struct LockUser {
  LockSet& set;
  bool shared;

  void acquire(int index, Rank home) { must(shared ? set.lock_shared(index, home) : set.lock(index, home)); }
  void release(int index, Rank home) { must(shared ? set.unlock_shared(index, home) : set.unlock(index, home)); }
};

/// Locks at home in each rank.
inline constexpr int kLocksPerRank = 32;

/// Collective: the time of rank 0's call. The clock is the same for all: they are on one machine.
std::uint64_t common_time_ns(Session& s);
void compute_until_ns(std::uint64_t time_ns);

/// Collective: so many messages have been sent for the set's locks by all ranks and servers. Nothing may be under way
/// but what `settle_us` is enough for.
double messages_so_far(Session& s, const LockSet& set, std::uint64_t settle_us);

// Each is called by all ranks at once. lock_latency.cpp
LockNumbers measure_overhead(Session& s, const LockWork& work, LockUser user);
LockNumbers measure_nonblocking(Session& s, const LockWork& work, LockUser user);
LockNumbers measure_delay(Session& s, const LockWork& work, LockUser user);
// lock_load.cpp
LockNumbers measure_load(Session& s, const LockWork& work, LockUser user);
LockNumbers measure_counts(Session& s, LockUser user);
LockNumbers measure_computing(Session& s, const LockWork& work, LockUser user);

}  // namespace grapnel::bench
