// What the scenario `dse` measures, as data: the four tests of the DSE paper by number of nodes, length and path.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "scenarios/dse_work.hpp"

namespace grapnel::bench {

/// One row: ours, held against the plain server doing the same test in the same job, or against trips of a datagram.
struct DseRow {
  std::string name;
  std::string messages_name;  ///< the row of its messages; empty: none, another one counts the same
  DseWork ours, limit;
  double limit_parts = 1;  ///< the row's limit, in units of what `limit` answers
};

/// One job, on one path, and what it does, over and over.
struct DsePart {
  std::string job;
  std::vector<std::string> settings;
  std::vector<DseRow> rows;
  int lab_hosts = 0;  ///< on so many hosts of a lab; 0: on virtual nodes
};

std::vector<DsePart> dse_plan();

}  // namespace grapnel::bench
