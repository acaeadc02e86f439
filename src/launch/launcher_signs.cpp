// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher_signs.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <string_view>

namespace grapnel::launch {
namespace {

void add_entry(LauncherSigns::Variables& variables, std::string_view entry) {
  const std::size_t sign = entry.find('=');
  if (sign == std::string_view::npos) return;
  // The first of a name counts, as with getenv.
  variables.emplace(entry.substr(0, sign), entry.substr(sign + 1));
}

bool is_socket(int descriptor) {
  int type = 0;
  socklen_t bytes = sizeof type;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

}  // namespace

LauncherSigns LauncherSigns::now() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) add_entry(variables, *entry);
  return LauncherSigns(std::move(variables));
}

LauncherSigns LauncherSigns::at_start() {
  std::ifstream file("/proc/self/environ", std::ios::binary);
  if (!file) return now();
  Variables variables;
  for (std::string entry; std::getline(file, entry, '\0');) add_entry(variables, entry);
  return LauncherSigns(std::move(variables));
}

std::optional<std::string> LauncherSigns::text(const char* variable) const {
  const auto found = variables_.find(variable);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

std::optional<int> LauncherSigns::number(const char* variable) const {
  const auto found = variables_.find(variable);
  if (found == variables_.end()) return std::nullopt;
  const std::string& digits = found->second;
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool LauncherSigns::offers_pmix() const {
  if (!text("PMIX_NAMESPACE") || !text("PMIX_RANK")) return false;
  for (const char* uri :
       {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"}) {
    if (text(uri)) return true;
  }
  return false;
}

bool LauncherSigns::offers_pmi1() const {
  const auto descriptor = number("PMI_FD");
  return descriptor && number("PMI_RANK") && number("PMI_SIZE") && is_socket(*descriptor);
}

bool LauncherSigns::offers_grapnel_run() const {
  const auto descriptor = number("PMI_FD");
  const auto file = text("GRAPNEL_RUN_SOCKET");
  struct stat about {};
  return descriptor && file && offers_pmi1() && ::fstat(*descriptor, &about) == 0 &&
         *file == std::to_string(about.st_ino);
}

bool LauncherSigns::lost_grapnel_run() const { return text("GRAPNEL_RUN_SOCKET") && text("PMI_FD") && !offers_pmi1(); }

std::optional<LauncherSigns::Launcher> LauncherSigns::launcher() const {
  const Launcher run{"grapnel run", number("PMI_SIZE").value_or(0)};
  if (offers_grapnel_run()) return run;
  if (const auto ranks = number("OMPI_COMM_WORLD_SIZE")) return Launcher{"Open MPI's mpirun", *ranks};
  if (lost_grapnel_run()) return run;
  if (text("PMI_FD") || text("PMI_PORT") || text("PMI_RANK")) {
    return Launcher{"an mpiexec that speaks PMI-1 (MPICH's hydra)", number("PMI_SIZE").value_or(0)};
  }
  if (const auto ranks = number("GRAPNEL_RUN_RANKS")) return Launcher{"grapnel run", *ranks};
  // SLURM_STEP_NUM_TASKS and not SLURM_NTASKS: a batch script outside srun has the latter, too.
  if (const auto ranks = number("SLURM_STEP_NUM_TASKS"); ranks && text("SLURM_PROCID")) return Launcher{"srun", *ranks};
  return std::nullopt;
}

}  // namespace grapnel::launch
