// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/statistics.hpp"

#include <cstdio>

namespace grapnel::front {
namespace {

constexpr std::array<const char*, kDecisions> kLines = {
    "windows taken: MPI_Win_allocate",
    "windows taken: MPI_Win_allocate_shared",
    "windows taken: MPI_Win_create",
    "windows taken: MPI_Win_create_dynamic",
    "windows passed: of an intercommunicator",
    "windows passed: a member is of another world",
    "windows passed: info grapnel=off",
    "windows passed: shared memory of several nodes",
    "windows passed: memory out of reach of the others",
};

}  // namespace

void Statistics::print(MPI_Comm comm) const {
  std::array<std::int64_t, kDecisions> mine{}, all{};
  for (std::size_t at = 0; at < kDecisions; ++at) mine[at] = counts_[at].load(std::memory_order_relaxed);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Reduce(mine.data(), all.data(), static_cast<int>(kDecisions), MPI_INT64_T, MPI_SUM, 0, comm);
  if (rank != 0) return;
  for (std::size_t at = 0; at < kDecisions; ++at) {
    if (all[at] != 0) std::fprintf(stderr, "%s %lld\n", kLines[at], static_cast<long long>(all[at]));
  }
}

}  // namespace grapnel::front
