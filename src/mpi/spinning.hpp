// Whether MPI's own waits keep their processor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace grapnel::mpi {

/// A warning where more ranks than processors are on this machine and MPI's waits spin although they can be told to
/// yield (Open MPI without mpi_yield_when_idle); empty where there is none, also where the user has set that variable,
/// either way. MPI runs. Local.
std::string warning_of_spinning(std::size_t ranks_on_machine, std::size_t processors);

}  // namespace grapnel::mpi
