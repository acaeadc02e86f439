// What the job did, summed over its ranks: the table at the end of a run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "block_matrix.hpp"

namespace lu {

using Counts = std::vector<grapnel::OperationCount>;

/// `after` − `before`, by name; operations that did not occur in between are left out.
Counts difference(const Counts& after, const Counts& before);
/// `more` is added to `sum`, by name.
void add(Counts& sum, const Counts& more);

/// Of one rank, or summed: the factorization, and everything since the start.
struct Activity {
  ReadCounts reads;
  Counts factorization;
  Counts whole_run;
};

/// Collective: rank 0 returns the sum over all ranks, the others an empty one. Each rank puts its own to rank 0.
grapnel::Result<Activity> sum_activity(grapnel::Runtime& runtime, const Activity& mine);

/// The table, ready to print.
std::string table(const Activity& sum);

}  // namespace lu
