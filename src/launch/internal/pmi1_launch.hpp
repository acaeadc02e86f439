// A launcher with PMI-1 and no PMIx: MPICH's hydra (mpiexec.mpich), for programs that do not join over MPI.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launch/launch.hpp"

namespace grapnel::launch {

/// Collective over the job that PMI_FD, PMI_RANK and PMI_SIZE name. Beside MPI_Init in either order, but the job ends
/// before MPI_Finalize. Cost: a value of n bytes is n / 768 entries of the launcher's store, each with a round trip to
/// put and one to look up. Errors: unavailable (the variables contradict each other; another protocol), and what the
/// launcher answers.
Result<std::unique_ptr<Launch>> join_pmi1(const base::Config& config, os::Host& host);

}  // namespace grapnel::launch
