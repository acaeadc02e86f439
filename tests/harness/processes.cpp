// SPDX-License-Identifier: Apache-2.0
#include "harness/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "harness/leftovers.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string own_executable() {
  char path[PATH_MAX] = {};
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

// build/<preset>/tests/some_test → build/<preset>/bin/grapnel
std::string launcher() {
  const std::string self = own_executable();
  const std::string folder = self.substr(0, self.rfind('/'));
  return folder.substr(0, folder.rfind('/')) + "/bin/grapnel";
}

[[noreturn]] void become_job(const std::vector<std::string>& arguments,
                             const std::vector<std::pair<std::string, std::string>>& environment, int output) {
  ::setpgid(0, 0);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

// Reads until the job's last process has closed its output; false where nothing came for this long.
bool read_output(int from, std::chrono::milliseconds silence, std::string& output) {
  auto deadline = Clock::now() + silence;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd descriptor{from, POLLIN, 0};
    if (::poll(&descriptor, 1, static_cast<int>(left)) <= 0) continue;
    deadline = Clock::now() + silence;
    char buffer[4096];
    const ssize_t length = ::read(from, buffer, sizeof buffer);
    if (length <= 0) return true;
    output.append(buffer, static_cast<std::size_t>(length));
  }
}

}  // namespace

ProcessOutcome run_job(const Shape& shape, std::vector<std::pair<std::string, std::string>> environment,
                       std::vector<std::string> command, std::chrono::seconds silence) {
  if (command.front() == "/proc/self/exe") command.front() = own_executable();
  std::vector<std::string> arguments = {
      launcher(), "run", "-n", std::to_string(shape.ranks), "--nodes", std::to_string(shape.nodes), "--label", "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  const Leftovers leftovers;
  for (const auto& variable : leftovers.environment()) environment.push_back(variable);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {1, false, "no pipe", ""};
  const pid_t job = ::fork();
  if (job == 0) become_job(arguments, environment, ends[1]);
  ::close(ends[1]);
  ProcessOutcome outcome;
  outcome.timed_out = !read_output(ends[0], silence, outcome.output);
  if (outcome.timed_out) {
    outcome.output += fmt::format("\n(nothing came for {} s; the job was ended)\n", silence.count());
    ::kill(job, SIGTERM);
    if (!read_output(ends[0], std::chrono::seconds(5), outcome.output)) ::kill(-job, SIGKILL);
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(job, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (outcome.timed_out && outcome.exit_code == 0) outcome.exit_code = 124;
  outcome.left_behind = leftovers.found();
  return outcome;
}

}  // namespace grapnel::test
