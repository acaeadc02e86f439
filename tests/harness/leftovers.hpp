// What a job has left on this machine: processes, files of shared memory, temporary files.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace grapnel::test {

/// Made before a job begins, whose processes are given `environment`. A folder for their temporary files goes with it.
class Leftovers {
 public:
  Leftovers();
  ~Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  /// A mark, by which the job's processes are known, and TMPDIR.
  const std::vector<std::pair<std::string, std::string>>& environment() const { return environment_; }

  /// What the job has left, a line each; empty where it has left nothing: what is in its folder, processes that carry
  /// its mark, and what is new in /dev/shm with a name of ours, of PMIx's or of UCX's. Other jobs may come and go
  /// there: what goes within a second does not count.
  std::string found() const;

 private:
  std::vector<std::pair<std::string, std::string>> environment_;
  const std::set<std::string> shared_before_;
};

}  // namespace grapnel::test
