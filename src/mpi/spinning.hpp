// Whether MPI's own waits keep their processor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace grapnel::mpi {

/// The text of a warning: this machine has more ranks than processors, and MPI's waits spin, which Open MPI's variable
/// mpi_yield_when_idle ends. Empty where that does not hold, and where the user has set the variable to any value.
/// Between MPI_Init and MPI_Finalize. Cost: reads one variable by MPI_T, where ranks outnumber processors. Local.
std::string warning_of_spinning(std::size_t ranks_on_machine, std::size_t processors);

/// True: a call of MPI that moves no message yields the processor (Open MPI's variable mpi_yield_when_idle is set).
/// Between MPI_Init and MPI_Finalize. Cost: the first call reads that variable by MPI_T, later ones nothing. Local.
bool mpi_yields();

}  // namespace grapnel::mpi
