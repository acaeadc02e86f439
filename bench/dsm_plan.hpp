// The rows of `dsm`, and the work that measures each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/dsm_work.hpp"

namespace grapnel::bench {

/// A row of numbers that one work counted.
struct DsmCount {
  std::string name, unit;
  DsmNumber number{};
  std::optional<DsmNumber> limit = {};
};

struct DsmCounting {
  DsmWork work;
  std::vector<DsmCount> rows;
};

/// A row of two times, measured in turns.
struct DsmPairs {
  std::string name;
  DsmWork limit, ours;
  std::string unit = "us";
  double scale = 1e-3;           ///< of ns
  bool same_result = false;      ///< both compute the same, and their checksums are compared
  std::optional<int> most = {};  ///< pairs
};

/// What one job measures.
struct DsmPart {
  std::string job;
  std::optional<DsmTrap> trap = {};  ///< none: the job has one node, and no trap
  std::vector<DsmCounting> counts;
  std::vector<DsmPairs> pairs;
  bool moves = true;  ///< of homes; false where rank 0 writes to pages of rank 1 again and again
};

std::string to_string(DsmTrap trap);

/// In the order in which they are measured.
std::vector<DsmPart> dsm_plan();

}  // namespace grapnel::bench
