// The scenario `dsm`: what the shared heap sends, what it takes beside its parts, and a program in it beside the same
// one without it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "peer_jobs.hpp"
#include "session.hpp"

namespace grapnel::bench {

/// Pairs of a row, and those of a quick one.
inline constexpr int kDsmPairs = 31;
inline constexpr int kDsmPairsQuick = 9;

/// The rows whose name holds `filter`, in the order in which they are measured.
std::vector<std::string> dsm_rows(const std::string& filter);

/// As `Scenario::collect`.
bool collect_dsm(const std::string& filter, const Effort& effort, const PeerSink& sink);

}  // namespace grapnel::bench
