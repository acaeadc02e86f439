#include "run/hand_over.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "run/message.hpp"
#include "run/program.hpp"

namespace grapnel::tool {
namespace {

using Arguments = std::vector<std::string>;

bool in_slurm() { return std::getenv("SLURM_JOB_ID") != nullptr; }

// "mpirun" may be Open MPI's or MPICH's; they agree on hardly an option.
bool is_hydra(const std::string& path) {
  const std::string command = fmt::format("'{}' --version 2>/dev/null", path);
  const std::unique_ptr<FILE, int (*)(FILE*)> answer(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  char line[256];
  while (answer && std::fgets(line, sizeof line, answer.get()) != nullptr) text += line;
  return text.find("HYDRA") != std::string::npos;
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
  Arguments arguments = {"srun", "--mpi=pmix", "-n", std::to_string(options.ranks)};
  if (!options.hosts.empty()) append(arguments, {"-w", options.hosts});
  if (options.label) arguments.push_back("--label");
  if (options.timeout_s > 0) {
    append(arguments, {"-t", std::to_string(static_cast<int>(std::ceil(options.timeout_s / 60)))});
  }
  return arguments;
}

Arguments for_open_mpi(const RunOptions& options) {
  Arguments arguments = {"mpirun", "-n", std::to_string(options.ranks), "--oversubscribe"};
  if (::geteuid() == 0) arguments.push_back("--allow-run-as-root");
  if (!options.hosts.empty()) append(arguments, {"--host", options.hosts});
  if (options.label) arguments.push_back("--tag-output");
  if (options.timeout_s > 0) {
    append(arguments, {"--timeout", std::to_string(static_cast<int>(std::ceil(options.timeout_s)))});
  }
  for (const std::string& name : settings_to_pass()) append(arguments, {"-x", name});
  return arguments;
}

Arguments for_hydra(const RunOptions& options) {
  Arguments arguments = {"mpiexec", "-n", std::to_string(options.ranks)};
  if (!options.hosts.empty()) append(arguments, {"-hosts", options.hosts});
  if (options.label) arguments.push_back("-prepend-rank");
  return arguments;  // it passes the whole environment
}

int become(const std::string& path, Arguments arguments, const RunOptions& options) {
  append(arguments, options.command);
  std::string line;
  for (const std::string& argument : arguments) line += (line.empty() ? "" : " ") + argument;
  say(fmt::format("handing over to {}: {}", path, line));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(path.c_str(), pointers.data());
  say(fmt::format("cannot start {}: {}", path, std::strerror(errno)));
  return 126;
}

}  // namespace

bool needs_hand_over(const RunOptions& options) { return options.mpi || !options.hosts.empty() || in_slurm(); }

int hand_over(const RunOptions& options) {
  if (options.nodes > 0) ::setenv("GRAPNEL_NODES", std::to_string(options.nodes).c_str(), 1);
  if (in_slurm()) {
    if (const auto path = find_program("srun")) return become(*path, for_srun(options), options);
  }
  for (const char* name : {"mpirun", "mpirun.openmpi", "mpiexec", "mpiexec.hydra"}) {
    const auto path = find_program(name);
    if (!path) continue;
    return become(*path, is_hydra(*path) ? for_hydra(options) : for_open_mpi(options), options);
  }
  say("this job needs a launcher for MPI or several hosts, and there is neither srun nor mpirun in PATH");
  return 1;
}

}  // namespace grapnel::tool
