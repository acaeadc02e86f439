// The scenario `sync`: fences, barriers and locks, ours beside the baselines of the papers, the limits of a
// node, and the trips of a network.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "peer_jobs.hpp"
#include "session.hpp"

namespace grapnel::bench {

/// The rows whose name holds `filter`, in the order in which they are measured.
std::vector<std::string> sync_rows(const std::string& filter);

/// As `collect_rma`.
bool collect_sync(const std::string& filter, const Effort& effort, const PeerSink& sink);

}  // namespace grapnel::bench
