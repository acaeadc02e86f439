// SPDX-License-Identifier: Apache-2.0
#include "mpi/spinning.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <optional>

namespace grapnel::mpi {
namespace {

constexpr const char* kVariable = "mpi_yield_when_idle";

/// Open MPI's variable as MPI_T shows it; nothing where this MPI has none of that name.
std::optional<bool> yields_when_idle() {
  // Open MPI takes the level that MPI_T asks for as the program's own: so no other than it has.
  int level = MPI_THREAD_SINGLE, provided = 0, number = 0, count = 0;
  MPI_Query_thread(&level);
  if (MPI_T_init_thread(level, &provided) != MPI_SUCCESS) return std::nullopt;
  std::optional<bool> yields;
  MPI_T_cvar_handle handle;
  if (MPI_T_cvar_get_index(kVariable, &number) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(number, nullptr, &handle, &count) == MPI_SUCCESS) {
    int values[8] = {};  // a flag: an int or less
    if (count == 1 && MPI_T_cvar_read(handle, values) == MPI_SUCCESS) yields = values[0] != 0;
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return yields;
}

}  // namespace

bool mpi_yields() {
  static const bool yields = yields_when_idle().value_or(false);
  return yields;
}

std::string warning_of_spinning(std::size_t ranks_on_machine, std::size_t processors) {
  if (ranks_on_machine <= processors || std::getenv("OMPI_MCA_mpi_yield_when_idle") != nullptr) return {};
  if (yields_when_idle().value_or(true)) return {};
  return fmt::format(
      "{} ranks share {} processors on this machine, and waits inside MPI (MPI_Recv, MPI_Wait, …) spin: start with "
      "`mpirun --mca {} 1`, or set OMPI_MCA_{} to 1; 0 keeps the spinning and drops this warning (docs/armci.md)",
      ranks_on_machine, processors, kVariable, kVariable);
}

}  // namespace grapnel::mpi
