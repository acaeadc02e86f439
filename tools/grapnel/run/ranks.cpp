// SPDX-License-Identifier: Apache-2.0
#include "run/ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "os/descriptor.hpp"
#include "os/limits.hpp"

namespace grapnel::tool {
namespace {

constexpr int kExec_ms = 60'000;

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Without the flag that closes it at exec.
void put_in_place(int from, int to) {
  if (from != to) {
    ::dup2(from, to);
  } else {
    ::fcntl(from, F_SETFD, 0);
  }
}

// What the launcher opened for itself, whatever flags it has: all but the first three, the rank's socket, and what the
// launcher had been given.
void close_the_launchers(const Ranks::Start& start) {
  unsigned first = STDERR_FILENO + 1;
  const auto close_up_to = [&](int kept) {
    const auto next = static_cast<unsigned>(kept);
    if (next > first) ::close_range(first, next - 1, CLOSE_RANGE_CLOEXEC);
    if (next >= first) first = next + 1;
  };
  bool socket_is_due = start.launcher_number >= 0;
  for (const int kept : start.kept) {
    if (socket_is_due && start.launcher_number < kept) {
      close_up_to(start.launcher_number);
      socket_is_due = false;
    }
    close_up_to(kept);
  }
  if (socket_is_due) close_up_to(start.launcher_number);
  ::close_range(first, ~0U, CLOSE_RANGE_CLOEXEC);
}

// In the child of a process with threads: nothing but system calls until exec.
[[noreturn]] void become_rank(const Ranks::Start& start, char* const* arguments, char* const* environment, pid_t parent,
                              int failure) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  put_in_place(start.input, STDIN_FILENO);
  put_in_place(start.output, STDOUT_FILENO);
  put_in_place(start.errors, STDERR_FILENO);
  if (start.launcher >= 0) put_in_place(start.launcher, start.launcher_number);
  close_the_launchers(start);
  rlimit limit{};
  if (start.descriptors > 0 && ::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = start.descriptors;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // The p variant for scripts without a first line "#!"; the path holds a slash, so nothing is searched.
  ::execvpe(start.path.c_str(), arguments, environment);
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(failure, &error, sizeof error);
  ::_exit(127);
}

// Of a child of this process, as /proc shows it: an outer process namespace's has other numbers.
bool is_dying(pid_t process) {
  constexpr unsigned kExiting = 4;  // PF_EXITING of the kernel
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return false;
  std::istringstream words(text.substr(end_of_name + 1));
  std::string state;
  pid_t parent = 0, group = 0, session = 0, terminal = 0, foreground = 0;
  unsigned flags = 0;
  words >> state >> parent >> group >> session >> terminal >> foreground >> flags;
  return words && parent == ::getpid() && (flags & kExiting) != 0;
}

}  // namespace

Status Ranks::start(const Start& start) {
  const std::vector<char*> arguments = pointers_to(start.arguments);
  const std::vector<char*> environment = pointers_to(start.environment);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Status(Code::system,
                  fmt::format("cannot make a pipe to start rank {}: {}; the launcher holds one descriptor per rank, "
                              "three with --label",
                              processes_.size(), os::error_words(errno)));
  }
  const os::Descriptor from_child(ends[0]);
  os::Descriptor to_parent(ends[1]);

  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) become_rank(start, arguments.data(), environment.data(), parent, to_parent.number());
  if (process < 0) {
    return Status(Code::system, fmt::format("cannot start rank {}: {}", processes_.size(), os::error_words(errno)));
  }
  ::setpgid(process, process);  // here too: a signal may be due before the child gets there
  to_parent.reset();
  processes_.push_back(process);
  pollfd executed{from_child.number(), POLLIN, 0};
  if (::poll(&executed, 1, kExec_ms) == 0) {
    return Status(Code::timed_out, fmt::format("{} has not begun to run within {} s (a file system that hangs?)",
                                               start.path, kExec_ms / 1000));
  }
  int error = 0;
  ssize_t got = -1;
  do {
    got = ::read(from_child.number(), &error, sizeof error);  // the end of the pipe is a successful exec
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    return Status(Code::system, fmt::format("cannot start {}: {}", start.path, std::strerror(error)));
  }
  return {};
}

std::vector<Ranks::End> Ranks::collect() {
  std::vector<End> ends;
  int wait_status = 0;
  for (pid_t process; (process = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    const auto found = std::find(processes_.begin(), processes_.end(), process);
    if (found == processes_.end()) continue;
    *found = 0;
    ends.push_back({static_cast<int>(found - processes_.begin()), wait_status});
  }
  std::stable_partition(ends.begin(), ends.end(), [](const End& end) { return WIFSIGNALED(end.wait_status); });
  return ends;
}

bool Ranks::has_dying() const {
  return std::any_of(processes_.begin(), processes_.end(), [](pid_t p) { return p != 0 && is_dying(p); });
}

void Ranks::signal_all(int signal) const {
  for (const pid_t process : processes_) {
    if (process != 0) ::kill(-process, signal);
  }
}

std::size_t Ranks::living() const {
  return static_cast<std::size_t>(std::count_if(processes_.begin(), processes_.end(), [](pid_t p) { return p != 0; }));
}

}  // namespace grapnel::tool
