// What the scenario `locks` measures, as data: jobs, what they do, and the rows that come of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "measurement.hpp"
#include "scenarios/lock_metrics.hpp"

namespace grapnel::bench {

struct LockRow {
  std::string name;
  std::string baseline;  ///< the same row of the papers' `server_queue`, the limit; empty: none
  std::string unit;
  Better better = Better::lower;
  LockNumber number{};
  int over = -1;     ///< divided by this number
  double scale = 1;  ///< of the number
};

struct LockItem {
  LockWork work;
  std::vector<LockRow> rows;
};

/// One job and what it does, over and over: kinds in turn, so that what else the machine does meets them equally.
struct LockPart {
  std::string job;
  std::string mode;  ///< GRAPNEL_PROGRESS; empty: a job of one node, which has no server
  double most_s;     ///< no round begins later
  std::vector<LockItem> items;
};

std::vector<LockPart> lock_plan();

/// Rows in virtual time: `grapnel-bench-sim` knows them by these names.
std::vector<std::string> lock_sim_rows();

}  // namespace grapnel::bench
