// Requests of taken windows: generalized requests of the host, so that one array may hold them beside its own.
//
// An operation that was complete when its call returned has a request that is complete. Else the request waits in a
// table. While that is not empty, the calls that complete requests look up theirs in it, complete those whose
// operations are complete, and then call the host. An empty table costs them one load.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <utility>

#include "window/pending.hpp"

namespace grapnel::front {

/// The request of an operation that was started. The host's error, where it has no more of them: the operation is then
/// complete by the next flush.
int start_request(window::Pending pending, MPI_Request* request);

/// What an operation's call returns; `request` null: the call has none.
inline int finish_call(window::Pending pending, MPI_Request* request) {
  return request == nullptr ? MPI_SUCCESS : start_request(std::move(pending), request);
}

}  // namespace grapnel::front
