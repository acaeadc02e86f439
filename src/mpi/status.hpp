// What MPI reports, as a Status.
#pragma once

#include "grapnel/status.hpp"

namespace grapnel::mpi {

/// ok for MPI_SUCCESS, else system: "MPI says: " and MPI's own words. Local.
Status status_of(int code);

/// For a code other than MPI_SUCCESS: "`what`: MPI says: …".
Status failure(const char* what, int code);

}  // namespace grapnel::mpi
