// The scenario `dse`: the DSE paper's figures 5 to 14, ours beside a plain server over TCP sockets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "peer_jobs.hpp"
#include "session.hpp"

namespace grapnel::bench {

/// Rounds, where none are asked for.
inline constexpr int kDseRounds = 11;
inline constexpr int kDseRoundsQuick = 3;

/// The rows whose name holds `filter`, in the order in which they are measured.
std::vector<std::string> dse_rows(const std::string& filter);

/// As `collect_rma`; where there can be no lab its rows are skipped.
bool collect_dse(const std::string& filter, const Effort& effort, const PeerSink& sink);

}  // namespace grapnel::bench
