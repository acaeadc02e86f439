// Which launcher started this process, from the variables that it left.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "launch/internal/identity_claim.hpp"
#include "launch/internal/pmi1_launch.hpp"
#include "launch/internal/single_launch.hpp"
#include "launch/launch.hpp"
#include "launch/launcher_signs.hpp"
#include "launch/node_launch.hpp"
#include "launch/pmix_launch.hpp"
#include "os/standard_descriptors.hpp"

namespace grapnel::launch {
namespace {

// A program that a rank of a running job has started (system(), say) inherits all that names the rank, and is not it.
bool is_started_by_the_rank(const LauncherSigns& signs) {
  const auto holder = IdentityClaim().take(signs);
  if (!holder || !holder->started_us) return false;
  tell(fmt::format("process {}, which has started this one, is a rank of a running job; this one is a job of its own",
                   holder->process));
  return true;
}

// The error of a launcher through which this process cannot join.
Status no_way(const LauncherSigns& signs, const LauncherSigns::Launcher& launcher) {
  const std::string front = fmt::format("this process was started by {} as one of {}", launcher.name,
                                        launcher.ranks > 0 ? std::to_string(launcher.ranks) : "several");
  if (signs.lost_grapnel_run()) {
    return {Code::unavailable,
            fmt::format("{}, but its socket (PMI_FD={}) is not open here: a program between them has closed it (sudo, "
                        "or Python's subprocess without close_fds=False); let it keep descriptors open, or start "
                        "`grapnel run` from it",
                        front, *signs.text("PMI_FD"))};
  }
  return {
      Code::unavailable,
      fmt::format("{}, but ranks cannot find each other through it; start it with `grapnel run`, Open MPI's mpirun, "
                  "MPICH's mpiexec (over PMI_FD, without -pmi-port), prterun or `srun --mpi=pmix`",
                  front)};
}

}  // namespace

Result<std::unique_ptr<Launch>> join(const base::Config& config, os::Host& host) {
  os::fill_standard_descriptors();
  const LauncherSigns signs = LauncherSigns::now();
  if (is_started_by_the_rank(signs)) return join_single(config, host);
  // First: an MPI that a rank has started may have left variables of PMIx, of a server of its own.
  if (signs.offers_grapnel_run()) return join_pmi1(config, host);
  if (signs.offers_pmix()) return join_pmix(config, host);
  if (signs.offers_pmi1()) return join_pmi1(config, host);
  // Silence about a launcher that cannot be used would make every rank a job of its own.
  if (const auto launcher = signs.launcher(); launcher && launcher->ranks != 1) return no_way(signs, *launcher);
  return join_single(config, host);
}

}  // namespace grapnel::launch
