// Which windows were taken, and why others passed to the host: with GRAPNEL_STATS=1 rank 0 prints it at the job's end.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace grapnel::front {

/// The outcome of a window's creation; `statistics.cpp` has a line for each.
enum class Decision : std::uint8_t {
  allocated,
  shared,
  created,
  dynamic,
  not_an_intracommunicator,
  rank_of_another_world,
  kept_by_info,
  several_nodes,
  memory_out_of_reach
};
inline constexpr std::size_t kDecisions = static_cast<std::size_t>(Decision::memory_out_of_reach) + 1;

class Statistics {
 public:
  /// By one member of each window.
  void count(Decision decision) { counts_[static_cast<std::size_t>(decision)].fetch_add(1, std::memory_order_relaxed); }
  /// Collective: sums, and rank 0 of `comm` prints.
  void print(MPI_Comm comm) const;

 private:
  std::array<std::atomic<std::int64_t>, kDecisions> counts_{};
};

}  // namespace grapnel::front
