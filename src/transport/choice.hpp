// Which transport carries a job's messages.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "launch/launch.hpp"
#include "transport/settings.hpp"
#include "transport/transport.hpp"

namespace grapnel::transport {

/// `wanted` where it is no `automatic`; else `local` where all nodes are on one machine and the user has not set
/// UCX_TLS; else `ucx`. Errors: unavailable (sim, or local between machines).
Result<TransportKind> choose_transport(TransportKind wanted, const launch::NodeMap& nodes);

/// The transport that `config` names, chosen as above. UCX is not touched where it is `local`, and uses only those
/// `interfaces` where it is not and some are named. Errors: as choose_transport, make_ucx_transport.
Result<std::unique_ptr<Transport>> make_transport(const base::Config& config, const launch::NodeMap& nodes, NodeId me,
                                                  std::uint64_t secret,
                                                  const std::vector<std::string>& interfaces = {});

}  // namespace grapnel::transport
