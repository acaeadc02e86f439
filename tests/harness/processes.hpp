// A job of processes under `grapnel run`, which is ended where it hangs, and its output.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace grapnel::test {

struct Shape;

struct ProcessOutcome {
  int exit_code = 0;  ///< 128 + n: ended by signal n
  bool timed_out = false;
  std::string output;       ///< stdout and stderr
  std::string left_behind;  ///< empty where nothing is: see Leftovers
};

/// Runs `command` (an own executable: "/proc/self/exe" is this test) as `shape.ranks` ranks. A job that prints nothing
/// for `silence` is ended with SIGTERM, then SIGKILL, and the outcome states so.
ProcessOutcome run_job(const Shape& shape, std::vector<std::pair<std::string, std::string>> environment,
                       std::vector<std::string> command, std::chrono::seconds silence);

}  // namespace grapnel::test
