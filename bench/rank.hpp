// A rank of a measurement's job: rank 0 measures, the others do what the board asks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "scenarios/shared_work.hpp"
#include "session.hpp"

namespace grapnel::bench {

/// What jobs there are: who is in them and which rows they measure. A job without rows is conducted by the coordinator.
struct JobKind {
  std::string name;
  int ranks;
  int nodes;
  std::size_t memory_bytes;  ///< of each rank
  bool raw_ucx;
  std::vector<Task> tasks;
  std::uint64_t (*share)(Session&) = do_share;  ///< what `Command::share` does; ns
  bool bound = false;                           ///< each node has one processor, as far as there are enough
  int rounds = 1;                               ///< jobs of this kind; each row is that of its middle one
};

const std::vector<JobKind>& job_kinds();
const JobKind& job_kind(const std::string& name);

struct RankOptions {
  std::string job;
  std::string board;
  std::string filter;  ///< rows whose name holds this; empty: all
  Effort effort;
};

/// The answer is the exit code.
int run_rank(const RankOptions& options);

}  // namespace grapnel::bench
