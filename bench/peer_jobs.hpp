// Starts the programs of bench/peers in turn, on this node and on two hosts of a lab.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "peer_rows.hpp"
#include "session.hpp"

namespace grapnel::bench {

struct PeerSink {
  std::function<void(const Measurement&)> on_row;
  /// A row that cannot be measured here, and why.
  std::function<void(const std::string& name, const std::string& why)> on_skip;
};

/// All rows of both places whose name `wants` takes. False when a program of ours failed or gave a wrong answer.
bool collect_peers(const Effort& effort, const std::function<bool(const std::string&)>& wants, const PeerSink& sink);

}  // namespace grapnel::bench
