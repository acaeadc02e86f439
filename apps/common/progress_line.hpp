// How far a run is: one line on stderr that process 0 rewrites, only where stderr is a terminal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace app {

class ProgressLine {
 public:
  /// `what`: the unit, as in "iteration".
  explicit ProgressLine(std::string what);
  /// Clears the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Prints at most five times a second.
  void show(std::size_t done, std::size_t all);

 private:
  std::string what_;
  bool on_ = false;
  bool printed_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace app
