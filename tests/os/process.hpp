// Child processes and a look at /proc, for the tests of this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "os/identity.hpp"

namespace grapnel::test {

/// Runs `body` in a forked child, whose exit code is 0 when it returns true.
class Child {
 public:
  explicit Child(const std::function<bool()>& body) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(body() ? 0 : 1);
  }
  ~Child() {
    if (pid_ > 0) wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int pid() const { return pid_; }
  /// 0: the body returned true; a signal's number negated when one killed the child.
  int wait() {
    int status = 0;
    const int waited = ::waitpid(pid_, &status, 0);
    pid_ = -1;
    if (waited < 0) return 127;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  int pid_;
};

/// A socket's name that no other test run uses.
inline std::string unique_name(const std::string& what) {
  return "grapnel-test-" + what + "-" + std::to_string(os::random_u64());
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// The lines of /proc/self/maps that hold `word`. Not the whole map: the sanitizers' own memory changes all the time.
inline std::string memory_map_lines(const std::string& word) {
  std::ifstream maps("/proc/self/maps");
  std::string found;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(word) != std::string::npos) found += line + "\n";
  }
  return found;
}

/// The lines of /proc/self/maps whose ranges begin in [begin, begin+bytes).
inline std::string memory_map_between(std::uintptr_t begin, std::size_t bytes) {
  std::ifstream maps("/proc/self/maps");
  std::string found;
  for (std::string line; std::getline(maps, line);) {
    if (std::stoull(line, nullptr, 16) - begin < bytes) found += line + "\n";
  }
  return found;
}

/// The line of /proc/self/maps whose range begins at `address`; empty where there is none.
inline std::string memory_map_line(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (std::stoull(line, nullptr, 16) == reinterpret_cast<std::uintptr_t>(address)) return line;
  }
  return "";
}

}  // namespace grapnel::test
