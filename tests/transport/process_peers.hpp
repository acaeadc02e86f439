// Peers that are processes: this program again, started for one test as one peer.
//
// A body is code of this program, so a peer's process runs the same test up to the same `run` and continues as the peer
// that its environment names. Nothing is shared but a socket to the test's process, which carries `exchange`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/peer.hpp"
#include "transport/transport_factory.hpp"

namespace grapnel::testing {

/// `settings` ("UCX_TLS=posix,cma") are added to the environment of the peers.
std::unique_ptr<PeerGroup> make_process_peers(TransportFactory factory, std::vector<std::string> settings);

}  // namespace grapnel::testing
