// The ranks of one group of MPI by their numbers in another.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <numeric>
#include <vector>

namespace grapnel::front {

/// For each rank of `group`, in its order, the rank in `other`; MPI_UNDEFINED for one that is not in it.
inline std::vector<int> ranks_in(MPI_Group other, MPI_Group group) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size)), found(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  PMPI_Group_translate_ranks(group, size, ranks.data(), other, found.data());
  return found;
}

}  // namespace grapnel::front
