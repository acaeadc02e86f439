// What a node is made of, as far as it decides what Grapnel does there: limits, transport, addresses, adapters.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/config.hpp"
#include "launch/launch.hpp"
#include "runtime/protocols.hpp"
#include "selftest/row.hpp"

namespace grapnel::tool::selftest {

/// The limits of this process and of its machine, judged for a job of these ranks. `adapter`: there is one that needs
/// registered memory.
std::vector<Row> limit_rows(const base::Config& config, const launch::NodeMap& nodes, NodeId me, bool adapter);

/// What the job uses between nodes, and why: the same choice as the runtime's, made with the same functions.
struct NetworkFacts {
  std::vector<Row> rows;
  std::vector<std::string> interfaces;  ///< of tcp; empty: UCX chooses, or no interface is used
  runtime::ProtocolTable protocols;     ///< without rows where there is one node, or no transport
  bool usable = true, has_adapter = false;
};
/// Collective. Errors: the launcher's.
Result<NetworkFacts> network_facts(const base::Config& config, launch::Launch& launch);

}  // namespace grapnel::tool::selftest
