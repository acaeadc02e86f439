// SPDX-License-Identifier: Apache-2.0
#include "again.hpp"

#include <algorithm>

namespace grapnel::bench {
namespace {

bool is_disturbed(const Row& row) { return row.measured.disturbed; }

}  // namespace

bool measure_disturbed_again(std::vector<Row>& rows, const MeasureRows& measure) {
  if (std::count_if(rows.begin(), rows.end(), is_disturbed) > kMostAgain) return true;
  bool all_well = true;
  for (int round = 0; round < kRoundsAgain; ++round) {
    for (Row& row : rows) {
      if (!is_disturbed(row)) continue;
      const std::string name = row.measured.name;  // the filter may hit other rows, too
      all_well &= measure(name, [&](const Row& again) {
        if (again.measured.name == name) row = again;
      });
    }
  }
  return all_well;
}

}  // namespace grapnel::bench
