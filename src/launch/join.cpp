// Which launcher started this process, from the variables that it left.
#include <fmt/format.h>

#include <cstdlib>

#include "launch/launch.hpp"
#include "launch/pmix_launch.hpp"
#include "launch/single_launch.hpp"

namespace grapnel::launch {
namespace {

bool has_pmix() {
  if (std::getenv("PMIX_NAMESPACE") == nullptr || std::getenv("PMIX_RANK") == nullptr) return false;
  for (const char* uri :
       {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"}) {
    if (std::getenv(uri) != nullptr) return true;
  }
  return false;
}

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

// A launcher that started several processes of this job but speaks no PMIx. Silence here would make every one of them a
// job of its own. SLURM_STEP_NUM_TASKS and not SLURM_NTASKS: a batch script outside srun has the latter, too.
const char* launcher_without_pmix() {
  if (number_in("PMI_SIZE") > 1 && (std::getenv("PMI_FD") != nullptr || std::getenv("PMI_RANK") != nullptr)) {
    return "an mpiexec that speaks PMI-1 (MPICH's hydra)";
  }
  if (number_in("SLURM_STEP_NUM_TASKS") > 1 && std::getenv("SLURM_PROCID") != nullptr) return "srun without PMIx";
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Launch>> join(const base::Config& config, os::Host& host) {
  if (has_pmix()) return join_pmix(config, host);
  if (const char* launcher = launcher_without_pmix(); launcher != nullptr) {
    return Status(
        Code::unavailable,
        fmt::format("this process was started by {}, through which ranks cannot find each other; start it with "
                    "`grapnel run`, Open MPI's mpirun, prterun or `srun --mpi=pmix`",
                    launcher));
  }
  return join_single(config, host);
}

}  // namespace grapnel::launch
