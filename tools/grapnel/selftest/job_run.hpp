// One job of the self-test, as the process sees it that started it: its rows, its end, and why it ended early.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "selftest/child.hpp"
#include "selftest/report.hpp"

namespace grapnel::tool::selftest {

class JobRun {
 public:
  explicit JobRun(ChildOptions options) : options_(std::move(options)) {}

  /// Reads the job to its end.
  void run(const std::function<double()>& seconds_left);

  bool has_begun() const { return begun_; }  ///< its ranks have joined
  bool has_ended_well() const { return ended_well_; }
  int exit_code() const { return end_.exit_code; }
  const std::vector<std::string>& other_lines() const { return others_; }  ///< what else was printed, the last of it
  /// The row of a job that has not ended well, unless it has sent one itself.
  std::optional<Row> failure() const;
  /// Adds what the ranks have found.
  void add_to(Report& report) const;

  /// Of the planted death: the rank, and the seconds from its announcement to the end of the job.
  std::optional<int> victim() const { return victim_; }
  double seconds_to_end() const { return seconds_to_end_; }

 private:
  void take(std::string_view line);
  std::string cause() const;

  const ChildOptions options_;
  std::vector<std::string> launcher_;  ///< description, ranks, nodes
  std::vector<Row> rows_;
  std::vector<std::string> others_;
  std::string step_ = "start of the ranks";
  bool begun_ = false, ended_well_ = false;
  ChildEnd end_;
  Status not_started_;
  std::optional<int> victim_;
  std::chrono::steady_clock::time_point dies_at_;
  double seconds_to_end_ = 0;
};

/// What to do about a job that ended with this text.
std::string remedy_for(const std::string& cause);

}  // namespace grapnel::tool::selftest
