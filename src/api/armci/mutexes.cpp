// Mutexes at home in a rank, over the core's locks.
//
// The ranks may ask for different numbers; the core makes as many everywhere, so the largest is made and each index is
// checked against its home's number.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/rank_waits.hpp"
#include "launch/group.hpp"
#include "mpi/status.hpp"

using grapnel::Code;
using grapnel::LockOptions;
using grapnel::Rank;
using grapnel::Status;
namespace mpi = grapnel::mpi;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

Status check_mutex(const Job& job, int mutex, int proc) {
  if (proc < 0 || proc >= job.ranks) return bad_rank(proc, job.ranks);
  if (job.mutexes.empty()) return {Code::invalid_argument, "there are no mutexes; ARMCI_Create_mutexes makes them"};
  const int there = job.mutexes[static_cast<std::size_t>(proc)];
  if (mutex < 0 || mutex >= there) {
    return {Code::invalid_argument, fmt::format("mutex {} is outside 0..{} of rank {}", mutex, there - 1, proc)};
  }
  return {};
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE(int, Create_mutexes, (int count)) {
  return answer("ARMCI_Create_mutexes", [&](Job& job) -> Status {
    // Every rank learns all numbers first, so that a wrong one is refused by all.
    std::vector<int> counts(static_cast<std::size_t>(job.ranks));
    GRAPNEL_TRY(mpi::status_of(MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, job.groups.world().comm)));
    if (!job.mutexes.empty()) return {Code::invalid_argument, "mutexes exist already; ARMCI_Destroy_mutexes first"};
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    if (*least < 0) return negative("count", *least);
    LockOptions options;
    options.lines = std::accumulate(counts.begin(), counts.end(), std::size_t{0});  // a place for each that exists
    Status earlier;
    if (*most > 0) GRAPNEL_TRY(meet("ARMCI_Create_mutexes", job, job.groups.world().core, earlier));
    if (!earlier.ok()) report("ARMCI_Create_mutexes", earlier);  // the mutexes are made all the same
    if (*most > 0) {
      GRAPNEL_ASSIGN_OR_RETURN(auto created, job.lock_sets->create(job.groups.world().core.known(), *most, options));
      job.locks = std::move(created);
    }
    job.mutexes = std::move(counts);
    return {};
  });
}

ARMCI_DEFINE(int, Destroy_mutexes, (void)) {
  return answer("ARMCI_Destroy_mutexes", [](Job& job) -> Status {
    if (job.mutexes.empty()) return {Code::invalid_argument, "there are no mutexes"};
    const bool any = *std::max_element(job.mutexes.begin(), job.mutexes.end()) > 0;
    Status earlier;
    if (any) GRAPNEL_TRY(meet("ARMCI_Destroy_mutexes", job, job.groups.world().core, earlier));
    if (any) GRAPNEL_TRY(job.lock_sets->destroy(*job.locks));
    job.mutexes.clear();
    job.locks.reset();
    return earlier;
  });
}

ARMCI_DEFINE(void, Lock, (int mutex, int proc)) {
  must("ARMCI_Lock", [&](Job& job) -> Status {
    GRAPNEL_TRY(check_mutex(job, mutex, proc));
    if (job.locks->acquire_at_once(mutex, Rank{proc})) return {};
    return wait_for_mutex(job, mutex, Rank{proc});
  });
}

ARMCI_DEFINE(void, Unlock, (int mutex, int proc)) {
  must("ARMCI_Unlock", [&](Job& job) -> Status {
    GRAPNEL_TRY(check_mutex(job, mutex, proc));
    // Where a server hands over, the caller's earlier writes to that server are applied before; programs rely on it.
    // The core's direct hand-off does not pass by the home, so they are completed here. Nothing is sent where nothing
    // is due. On this node they are stores, which the release of the lock orders.
    if (!job.runtime->same_node(Rank{proc})) GRAPNEL_TRY(job.runtime->fence(Rank{proc}));
    return job.locks->release(mutex, Rank{proc});
  });
}
