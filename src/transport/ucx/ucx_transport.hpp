// The transport contract on UCX's UCP.
//
// Threads: as in transport.hpp; the transport itself may be used by any thread.
// Source: UCX 1.13; docs/transport.md has the settings and the reasons.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "launch/launch.hpp"
#include "transport/transport.hpp"

namespace grapnel::transport {

/// A transport for the rank of node `me`. Memory registrations, workers and keys may outlive it. Its workers ignore
/// those that do not know the job's `secret`. `interfaces`: those that tcp may use; empty: UCX chooses.
/// Errors: unavailable when UCX has no usable transport here (the message names UCX_TLS), system.
Result<std::unique_ptr<Transport>> make_ucx_transport(const base::Config& config, const launch::NodeMap& nodes,
                                                      NodeId me, std::uint64_t secret,
                                                      const std::vector<std::string>& interfaces = {});

}  // namespace grapnel::transport
