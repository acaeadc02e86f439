// SPDX-License-Identifier: Apache-2.0
#include "jobs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace grapnel::bench {
namespace {

[[noreturn]] void give_up(const char* doing) {
  fmt::print(stderr, "grapnel-bench: cannot {}: {}\n", doing, std::strerror(errno));
  std::exit(1);
}

}  // namespace

std::string beside(const std::string& program) {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) give_up("find this program's folder");
  const std::string self(path.data(), static_cast<std::size_t>(length));
  return self.substr(0, self.rfind('/') + 1) + program;
}

Job::Job(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) give_up("make a pipe");
  process_ = ::fork();
  if (process_ < 0) give_up("start a job");
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ::fdopen(ends[0], "r");
  if (output_ == nullptr) give_up("read a job's output");
}

Job::~Job() {
  if (is_alive()) ::kill(process_, SIGTERM);
  finish();
  std::fclose(output_);
}

std::optional<std::string> Job::next_line() {
  char* line = nullptr;
  std::size_t capacity = 0;
  const ssize_t length = ::getline(&line, &capacity, output_);
  const std::string text(line, length > 0 ? static_cast<std::size_t>(length) : 0);
  std::free(line);
  if (length <= 0) return std::nullopt;
  return text.substr(0, text.find('\n'));
}

bool Job::is_alive() {
  int status = 0;
  if (!wait_status_ && ::waitpid(process_, &status, WNOHANG) == process_) wait_status_ = status;
  return !wait_status_;
}

bool Job::finish() {
  int status = 0;
  if (!wait_status_ && ::waitpid(process_, &status, 0) == process_) wait_status_ = status;
  return wait_status_ && WIFEXITED(*wait_status_) && WEXITSTATUS(*wait_status_) == 0;
}

}  // namespace grapnel::bench
