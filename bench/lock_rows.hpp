// The scenario `locks`: the MPI paper's five metrics (section 6) for every kind of lock and every progress mode.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "session.hpp"
#include "turns.hpp"

namespace grapnel::bench {

/// Rounds of a measurement, and those of a quick one.
inline constexpr int kLockRounds = 7;
inline constexpr int kLockRoundsQuick = 3;

/// The rows whose name holds `filter`, in the order in which they are measured.
std::vector<std::string> lock_rows(const std::string& filter);

/// As `collect_rma`. `effort.pairs`: rounds of each row; where they take too long there are fewer, and the row states
/// so.
bool collect_locks(const std::string& filter, const Effort& effort, const OnRow& on_row);

}  // namespace grapnel::bench
