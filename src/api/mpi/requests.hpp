// Requests of ours among the host's: generalized requests.
//
// An operation that was complete when its call returned has a request that is complete. Else the request waits in a
// table. While that is not empty, the calls that complete requests look for ours among theirs, complete what is done,
// and then ask the host. An empty table costs them one load.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "window/pending.hpp"

namespace grapnel::front {

/// The request of an operation that was started. The host's error, where it has no more of them: the operation is then
/// complete by the next flush.
int start_request(window::Pending pending, MPI_Request* request);

}  // namespace grapnel::front
