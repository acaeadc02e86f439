// Any launcher with PMIx: `grapnel run`, Open MPI's mpirun, prterun, srun --mpi=pmix.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launch/launch.hpp"

namespace grapnel::launch {

/// Collective over the job. Beside MPI_Init in either order: the library counts its users.
Result<std::unique_ptr<Launch>> join_pmix(const base::Config& config, os::Host& host);

/// How many ranks the PMIx launcher started, without joining the job. Errors: unavailable, system. The library's first
/// use in a process connects to the launcher.
Result<int> pmix_job_size();

}  // namespace grapnel::launch
