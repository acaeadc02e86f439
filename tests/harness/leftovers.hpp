// What a job has left on this machine: processes, and files in shared memory and the folder for temporary files.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace grapnel::test {

/// Made before a job begins, whose processes carry `mark` in their environment.
class Leftovers {
 public:
  Leftovers();

  /// A variable of the environment, by which a job's processes are known.
  const std::pair<std::string, std::string>& mark() const { return mark_; }

  /// What is there that was not before, a line each; empty where nothing is. Files count by their names: ours, those of
  /// PMIx and of UCX.
  std::string found() const;

 private:
  const std::pair<std::string, std::string> mark_;
  const std::set<std::string> files_before_;
};

}  // namespace grapnel::test
