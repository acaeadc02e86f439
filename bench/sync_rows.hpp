// The scenario `sync`: fences and barriers, ours beside the baselines of the papers and the limits of a node.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "session.hpp"
#include "turns.hpp"

namespace grapnel::bench {

/// The rows whose name holds `filter`, in the order in which they are measured.
std::vector<std::string> sync_rows(const std::string& filter);

/// As `collect_rma`.
bool collect_sync(const std::string& filter, const Effort& effort, const OnRow& on_row);

}  // namespace grapnel::bench
