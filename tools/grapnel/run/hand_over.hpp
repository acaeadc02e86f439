// Jobs that another launcher has to start: MPI programs, several hosts, Slurm.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/options.hpp"

namespace grapnel::tool {

bool needs_hand_over(const RunOptions& options);

/// Becomes `srun`, `mpirun` or `mpiexec`, with its environment, so that signals and exit code are that one's. Returns
/// only when that fails, with the exit code.
int hand_over(const RunOptions& options);

}  // namespace grapnel::tool
