// A limit that was disturbed shows nothing about us: its row is measured once more, when all others are done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bars.hpp"

namespace grapnel::bench {

/// A row is measured again this often at most. Where more rows than kMostAgain are disturbed, none is: such a machine
/// is not one to measure on.
inline constexpr int kRoundsAgain = 2;
inline constexpr int kMostAgain = 16;

/// Measures the rows whose name holds `filter` and hands them to `on_row`. False when a job failed.
using MeasureRows = std::function<bool(const std::string& filter, const std::function<void(const Row&)>& on_row)>;

/// Replaces each disturbed row by its new measurement; no other, however far it falls short. False when a job failed:
/// then its row is as it was.
bool measure_disturbed_again(std::vector<Row>& rows, const MeasureRows& measure);

}  // namespace grapnel::bench
