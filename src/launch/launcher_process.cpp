// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher_process.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace grapnel::launch {
namespace {

constexpr int kMostGenerations = 8;  // wrappers between a launcher and its rank: shells, env, numactl, a profiler

constexpr std::array<std::string_view, 15> kLauncherNames{
    "mpirun", "mpirun.openmpi", "mpiexec",       "mpiexec.openmpi", "orterun",         "orted",   "prterun",   "prte",
    "prted",  "mpiexec.hydra",  "mpiexec.mpich", "mpirun.mpich",    "hydra_pmi_proxy", "grapnel", "slurmstepd"};

struct ProcessEntry {
  std::string name;
  pid_t parent = 0;
};

// "4711 (name) S 4700 …"; the name may hold spaces and brackets.
std::optional<ProcessEntry> read_entry(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t begin = text.find('(');
  const std::size_t end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin || end + 4 >= text.size()) return {};
  ProcessEntry entry{text.substr(begin + 1, end - begin - 1), 0};
  const char* const number = text.data() + end + 4;
  const auto [rest, error] = std::from_chars(number, text.data() + text.size(), entry.parent);
  if (error != std::errc()) return {};
  return entry;
}

os::Descriptor open_process(pid_t process) {
  return os::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

}  // namespace

bool is_launcher_name(std::string_view name) {
  return std::find(kLauncherNames.begin(), kLauncherNames.end(), name) != kLauncherNames.end();
}

os::Descriptor open_launcher_process() {
  pid_t child = ::getpid();
  pid_t process = ::getppid();
  for (int generation = 0; generation < kMostGenerations && process > 1; ++generation) {
    os::Descriptor descriptor = open_process(process);
    const auto entry = read_entry(process);
    const auto child_entry = read_entry(child);
    // The number still names the parent after the pidfd was opened, so the pidfd is the parent's.
    if (!descriptor.valid() || !entry || !child_entry || child_entry->parent != process) return {};
    if (is_launcher_name(entry->name)) return descriptor;
    child = process;
    process = entry->parent;
  }
  return {};
}

}  // namespace grapnel::launch
