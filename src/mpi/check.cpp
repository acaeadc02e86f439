// Whether this process's MPI can carry a job.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "launch/launcher_signs.hpp"
#include "launch/pmix_launch.hpp"
#include "mpi/join.hpp"

namespace grapnel::mpi {
namespace {

#ifdef OPEN_MPI
constexpr const char* kMpi = "Open MPI";
constexpr const char* kLauncher = "mpirun.openmpi";
#else
constexpr const char* kMpi = "MPICH or of its family";
constexpr const char* kLauncher = "mpiexec.mpich";
#endif

Status alone(const std::string& launcher, const std::string& how_many) {
  return Status(Code::unavailable,
                fmt::format("this process was started by {} as one of {} ranks, but its MPI knows only itself: the "
                            "launcher is not that of the program's MPI, which is {}. Start it with {}, by itself or as "
                            "`grapnel run --launcher {}`, or build the program with the launcher's MPI",
                            launcher, how_many, kMpi, kLauncher, kLauncher));
}

// MPI_COMM_WORLD has one rank: is that what the launcher meant?
Status check_lone_world() {
  const launch::LauncherSigns signs = launch::LauncherSigns::at_start();
  if (const auto launcher = signs.launcher()) {
    return launcher->ranks > 1 ? alone(launcher->name, std::to_string(launcher->ranks)) : Status();
  }
  if (!signs.offers_pmix()) return {};
  // A PMIx launcher that leaves no count in the environment.
  const char* const launcher_name = "a launcher that speaks PMIx";
  if (signs.number("PMIX_RANK").value_or(0) > 0) return alone(launcher_name, "several");
  // An MPI that ignored that launcher may have started a PMIx server of its own; that one's answer would be no answer.
  if (launch::LauncherSigns::now().text("PMIX_NAMESPACE") != signs.text("PMIX_NAMESPACE")) return {};
  const auto ranks = launch::pmix_job_size();
  return ranks && *ranks > 1 ? alone(launcher_name, std::to_string(*ranks)) : Status();
}

}  // namespace

Status check_mpi() {
  int flag = 0;
  PMPI_Initialized(&flag);
  if (flag == 0) return Status(Code::unavailable, "MPI is not initialised: call MPI_Init or MPI_Init_thread first");
  PMPI_Finalized(&flag);
  if (flag != 0)
    return Status(Code::unavailable, "MPI is already finalised: a job cannot be joined after MPI_Finalize");
  int ranks = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks > 1 ? Status() : check_lone_world();
}

}  // namespace grapnel::mpi
