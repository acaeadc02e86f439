// The scenario `rma`: its rows, and the jobs that measure them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "peer_jobs.hpp"
#include "session.hpp"

namespace grapnel::bench {

struct RmaOptions {
  std::string filter;
  Effort effort;
  bool only_peers = false;  ///< rows that hold us against others, and no others
};

/// The rows that are wanted, in the order in which they are measured.
std::vector<std::string> rma_rows(const RmaOptions& options);

/// Starts the jobs one after the other and hands on every row as soon as it is there, and every row that cannot be
/// measured on this machine. False when a job of ours failed (what it said is on stderr).
bool collect_rma(const RmaOptions& options, const PeerSink& sink);

}  // namespace grapnel::bench
