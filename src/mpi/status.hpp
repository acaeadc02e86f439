// Return codes of MPI as a Status.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "grapnel/status.hpp"

namespace grapnel::mpi {

/// Converts a return code: ok for MPI_SUCCESS, else system with MPI's error string. Local.
Status status_of(int code);

/// Converts the return code of a call that failed; `what` names the call.
Status failure(const char* what, int code);

}  // namespace grapnel::mpi
