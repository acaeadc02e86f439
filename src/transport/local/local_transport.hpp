// The transport contract between processes of one machine and one user, on Unix stream sockets.
//
// The kernel names the user at the other end, so no other user of the machine can reach a rank (docs/security.md).
// Threads: as in transport.hpp; the transport itself may be used by any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace grapnel::transport {

/// Its workers reject connections of other users, and of processes that do not know the job's `secret`.
std::unique_ptr<Transport> make_local_transport(std::uint64_t secret);

}  // namespace grapnel::transport
