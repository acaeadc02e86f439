// SPDX-License-Identifier: Apache-2.0
#include "run/hand_over.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "run/message.hpp"
#include "run/program.hpp"

namespace grapnel::tool {
namespace {

using Arguments = std::vector<std::string>;

enum class Family { open_mpi, hydra, slurm };

struct Launcher {
  std::string name;  ///< as it was asked for: launchers look for their helpers beside a name with a path
  std::string path;
  Family family = Family::open_mpi;
};

bool in_slurm() { return std::getenv("SLURM_JOB_ID") != nullptr; }

// "mpirun" may be Open MPI's or MPICH's; they agree on hardly an option. What is neither is taken for Open MPI's, whose
// options PRRTE understands, too.
Family family_of(const std::string& path) {
  const std::string command = fmt::format("'{}' --version 2>/dev/null", path);
  const std::unique_ptr<FILE, int (*)(FILE*)> answer(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  char line[256];
  while (answer && std::fgets(line, sizeof line, answer.get()) != nullptr) text += line;
  if (text.find("HYDRA") != std::string::npos || text.find("Intel(R) MPI") != std::string::npos) return Family::hydra;
  return text.rfind("slurm", 0) == 0 ? Family::slurm : Family::open_mpi;
}

Result<Launcher> find_launcher(const std::string& name) {
  const auto path = find_program(name);
  if (!path) return path.status();
  return Launcher{name, *path, family_of(*path)};
}

// The family of the MPI that this build's libarmci is for.
std::optional<Family> own_family() {
  const std::string_view mpi = GRAPNEL_MPI;
  if (mpi == "openmpi") return Family::open_mpi;
  return mpi == "mpich" ? std::optional(Family::hydra) : std::nullopt;
}

const char* words_for(Family family) {
  switch (family) {
    case Family::open_mpi: return "Open MPI";
    case Family::hydra: return "MPICH";
    case Family::slurm: break;
  }
  return "Slurm";
}

// An MPI program of another MPI than its launcher's would be as many jobs of one rank.
Status check_family(const Launcher& launcher, const RunOptions& options) {
  const auto own = own_family();
  if (!options.mpi || !own || launcher.family == *own || launcher.family == Family::slurm) return {};
  return {
      Code::unavailable,
      fmt::format("this Grapnel's libarmci is for {}, of which there is no launcher in PATH; {} is {}'s. Install {}'s, "
                  "or name one: --launcher {}",
                  words_for(*own), launcher.path, words_for(launcher.family), words_for(*own), launcher.name)};
}

// The one that the user names; else Slurm's own inside a Slurm job; else that of the build's own MPI; else whichever is
// here, Slurm's last: outside of a job it asks for an allocation first.
Result<Launcher> choose_launcher(const RunOptions& options) {
  if (!options.launcher.empty()) return find_launcher(options.launcher);
  std::vector<std::string> names = {"mpirun", "mpirun.openmpi", "mpiexec", "mpiexec.mpich", "mpiexec.hydra"};
  names.insert(in_slurm() ? names.begin() : names.end(), "srun");
  std::optional<Launcher> first;
  for (const std::string& name : names) {
    const auto found = find_launcher(name);
    if (!found) continue;
    if ((in_slurm() && found->family == Family::slurm) || found->family == own_family()) return *found;
    if (!first) first = *found;
  }
  if (!first) {
    return Status(
        Code::unavailable,
        "this job needs a launcher for MPI or several hosts, and there is neither srun nor mpirun nor mpiexec in "
        "PATH");
  }
  GRAPNEL_TRY(check_family(*first, options));
  return *first;
}

std::vector<std::string> hosts_of(const RunOptions& options) {
  std::vector<std::string> hosts;
  for (std::string_view rest = options.hosts; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (comma > 0) hosts.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return hosts;
}

// "a:2,b:1". Where no host states how many ranks it takes, each takes its part, in blocks, the first ones one more:
// left alone, Open MPI would fill one host after another, and hydra deal the ranks out like cards.
std::string hosts_with_slots(const RunOptions& options) {
  const std::vector<std::string> hosts = hosts_of(options);
  const bool as_given = options.hosts.find(':') != std::string::npos;
  const auto ranks = static_cast<std::size_t>(options.ranks);
  std::string list;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::size_t slots = ranks / hosts.size() + (i < ranks % hosts.size() ? 1 : 0);
    if (!as_given && slots == 0) break;
    list += fmt::format("{}{}", list.empty() ? "" : ",", as_given ? hosts[i] : fmt::format("{}:{}", hosts[i], slots));
  }
  return list;
}

// srun takes names alone.
std::string hosts_without_slots(const RunOptions& options) {
  std::string list;
  for (const std::string& host : hosts_of(options)) {
    list += fmt::format("{}{}", list.empty() ? "" : ",", host.substr(0, host.find(':')));
  }
  return list;
}

// Settings that the ranks on other hosts must see.
Arguments settings_to_pass() {
  Arguments names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (text.substr(0, 8) == "GRAPNEL_" || text.substr(0, 4) == "UCX_")
      names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

void append(Arguments& arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

Arguments for_srun(const RunOptions& options) {
  Arguments arguments = {"--mpi=pmix", "-n", std::to_string(options.ranks)};
  // More ranks than processors, as elsewhere. Outside of an allocation it would mean one processor for all of them.
  if (in_slurm()) arguments.push_back("--overcommit");
  if (!options.hosts.empty()) append(arguments, {"-w", hosts_without_slots(options)});
  if (options.label) arguments.push_back("--label");
  if (options.timeout_s > 0) {
    append(arguments, {"-t", std::to_string(static_cast<int>(std::ceil(options.timeout_s / 60)))});
  }
  return arguments;
}

Arguments for_open_mpi(const RunOptions& options) {
  Arguments arguments = {"-n", std::to_string(options.ranks), "--oversubscribe"};
  // Open MPI 5 would deal ranks out by the parts of a host's hardware and not in blocks. The user's own choice wins.
  ::setenv("PRTE_MCA_rmaps_default_mapping_policy", "slot:oversubscribe", 0);
  if (::geteuid() == 0) arguments.push_back("--allow-run-as-root");
  if (!options.hosts.empty()) append(arguments, {"--host", hosts_with_slots(options)});
  if (options.label) arguments.push_back("--tag-output");
  if (options.timeout_s > 0) {
    append(arguments, {"--timeout", std::to_string(static_cast<int>(std::ceil(options.timeout_s)))});
  }
  for (const std::string& name : settings_to_pass()) append(arguments, {"-x", name});
  return arguments;
}

Arguments for_hydra(const RunOptions& options) {
  Arguments arguments = {"-n", std::to_string(options.ranks)};
  if (!options.hosts.empty()) append(arguments, {"-hosts", hosts_with_slots(options)});
  if (options.label) arguments.push_back("-prepend-rank");
  return arguments;  // it passes the whole environment
}

Arguments arguments_for(const Launcher& launcher, const RunOptions& options) {
  switch (launcher.family) {
    case Family::slurm: return for_srun(options);
    case Family::hydra: return for_hydra(options);
    case Family::open_mpi: break;
  }
  return for_open_mpi(options);
}

int become(const Launcher& launcher, const RunOptions& options) {
  Arguments arguments = {launcher.name};
  append(arguments, arguments_for(launcher, options));
  append(arguments, options.command);
  std::string line;
  for (const std::string& argument : arguments) line += (line.empty() ? "" : " ") + argument;
  say(fmt::format("handing over to {}: {}", launcher.path, line));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(launcher.path.c_str(), pointers.data());
  say(fmt::format("cannot start {}: {}", launcher.path, std::strerror(errno)));
  return 126;
}

}  // namespace

bool needs_hand_over(const RunOptions& options) {
  return options.mpi || !options.hosts.empty() || !options.launcher.empty() || in_slurm();
}

int hand_over(const RunOptions& options) {
  if (options.nodes > 0) ::setenv("GRAPNEL_NODES", std::to_string(options.nodes).c_str(), 1);
  if (!options.hosts.empty() && hosts_of(options).empty()) {
    say(fmt::format("--hosts {}: there is no host in it", options.hosts));
    return 2;
  }
  const auto launcher = choose_launcher(options);
  if (!launcher) {
    say(launcher.status().message());
    return options.launcher.empty() ? 1 : 127;
  }
  if (launcher->family == Family::hydra && options.timeout_s > 0) {
    ::setenv("MPIEXEC_TIMEOUT", std::to_string(static_cast<int>(std::ceil(options.timeout_s))).c_str(), 1);
  }
  return become(*launcher, options);
}

}  // namespace grapnel::tool
