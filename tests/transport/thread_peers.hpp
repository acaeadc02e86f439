// Peers that are threads of this process, each with a transport of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "transport/peer.hpp"
#include "transport/transport_factory.hpp"

namespace grapnel::testing {

std::unique_ptr<PeerGroup> make_thread_peers(TransportFactory factory);

}  // namespace grapnel::testing
