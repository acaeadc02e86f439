// What a self-test has found, as a table for people and as JSON for programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "selftest/row.hpp"

namespace grapnel::tool::selftest {

struct Report {
  std::string launcher;  ///< empty: no rank has joined
  int ranks = 0, nodes = 0;
  std::vector<Row> rows;
  double seconds = 0;

  /// The worst of the rows; `not_here` counts as good.
  Verdict verdict() const;
};

std::string as_table(const Report& report);
/// docs/clusters.md has the schema.
std::string as_json(const Report& report);

}  // namespace grapnel::tool::selftest
