// Waits for another rank, during which MPI makes progress (mpi/wait.hpp), by the core or by MPI. Copies, atomics and
// fences need no other rank, only its server, and are waited for at once.
// Threads: where MPI may be called by this thread only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "api/armci/job.hpp"
#include "grapnel/status.hpp"
#include "mpi/wait.hpp"
#include "progress/between_sleeps.hpp"

namespace grapnel::armci {

/// While it lives, MPI makes progress between the sleeps of this thread's waits.
class MpiBetweenSleeps {
 public:
  explicit MpiBetweenSleeps(const Job& job) : run_{job.groups.world_comm()}, between_(run_) {}

 private:
  struct Run {
    MPI_Comm comm;
    void operator()() const { mpi::let_progress(comm); }
  };
  const Run run_;
  progress::BetweenSleeps between_;
};

/// What `run` answers, which makes one call of the core's collectives, in the public `call`.
template <typename Run>
Status run_collective(const char* call, Job& job, const Run& run) {
  const progress::WaitScope scope(call);
  const MpiBetweenSleeps between(job);
  return run(*job.collectives);
}

/// Collective over a core group, in the public `call`. All members' puts and accumulates are complete, and all have
/// arrived.
Status run_barrier(const char* call, Job& job, const Group& group);

/// `run_barrier` at the beginning of a call in which the ranks agree by the core: MPI makes progress until all are
/// there. Errors: peer_dead. `kept`: an earlier write of this rank's was refused, for the call to tell at its end; a
/// rank that left before the others have agreed would leave them waiting. So what keeps it from arriving (no room for
/// one more set of ranks) stops the job.
Status meet(const char* call, Job& job, const Group& group, Status& kept);

/// A mutex that is not to be had at once. Errors: as LockSet::lock.
Status wait_for_mutex(Job& job, int mutex, Rank home);

/// One more notification of `from` than was waited for so far; how many have come. Errors: invalid_argument, peer_dead.
Result<std::uint32_t> wait_for_notification(Job& job, Rank from);

/// mpi::wait_for by the job's wait policy; before ARMCI_Init by MPI's own wait.
inline Status wait_for_mpi(MPI_Request request, std::int64_t bytes, MPI_Status* status = MPI_STATUS_IGNORE) {
  return mpi::wait_for(the_job == nullptr ? nullptr : the_job->waiting, request, bytes, status);
}

}  // namespace grapnel::armci
