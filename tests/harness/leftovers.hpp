// What a job has left on this machine: processes, files of shared memory, temporary files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace grapnel::test {

/// Made before a job begins, whose processes are given `environment`. A folder for their temporary files ends with it.
class Leftovers {
 public:
  Leftovers();
  ~Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  /// A mark, by which the job's processes are known, and TMPDIR.
  std::vector<std::pair<std::string, std::string>> environment() const { return {{kMark, mark_}, {"TMPDIR", folder_}}; }

  /// What the job has left, a line each; empty where it has left nothing: what is in its folder, processes that carry
  /// its mark, and what is new in /dev/shm with a name of ours, of PMIx's or of UCX's. Other jobs may come and go
  /// there: what goes within a second does not count.
  std::string found() const;

 private:
  static constexpr const char* kMark = "GRAPNEL_TEST_MARK";

  const std::string mark_;
  const std::string folder_;
  const std::set<std::string> shared_before_;
};

}  // namespace grapnel::test
