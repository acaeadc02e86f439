// Starting programs and reading what they print: `grapnel run …` and the simulator's program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace grapnel::bench {

/// The path of a program that lies beside this one.
std::string beside(const std::string& program);

/// A child process whose standard output is read line by line. It dies with this process; the destructor ends and
/// collects it.
class Job {
 public:
  explicit Job(const std::vector<std::string>& command);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  /// Without its end; nothing when there is no more.
  std::optional<std::string> next_line();
  bool is_alive();
  /// Waits for its end; true for exit code 0.
  bool finish();

 private:
  pid_t process_ = 0;
  std::FILE* output_ = nullptr;
  std::optional<int> wait_status_;
};

}  // namespace grapnel::bench
