// Waits for what another rank has to do: the core's, during which MPI goes on.
//
// MPI's own barrier spins, for milliseconds where more ranks than processors take part. But a rank that waits in MPI
// also sends what MPI has kept back of earlier messages: a program may count on that (the other rank may be waiting for
// just such a message before it comes to the barrier, or gives the lock away), and MPI_Send and MPI_Bcast, which return
// when their message is on its way, do too. So the core's waits are waited for in pieces, and between them MPI is
// called. Copies, atomics and fences need no other rank, only its server, and are waited for at once.
// Threads: where MPI may be called by this thread only.
#pragma once

#include <cstdint>

#include "api/armci/job.hpp"
#include "grapnel/status.hpp"

namespace grapnel::armci {

/// Collective over a core group, in the public `call`. All members' puts and accumulates are complete, and all have
/// arrived.
Status run_barrier(const char* call, Job& job, const Group& group);

/// `run_barrier` at the beginning of a call in which the ranks agree by the core: MPI goes on until all are there.
/// Errors: peer_dead. `kept`: an earlier write of this rank's was refused, for the call to tell at its end; a rank that
/// left before the others have agreed would leave them waiting. So what keeps it from arriving (no room for one more
/// set of ranks) stops the job.
Status meet(const char* call, Job& job, const Group& group, Status& kept);

/// A mutex that is not to be had at once. Errors: as LockSet::lock.
Status wait_for_mutex(Job& job, int mutex, Rank home);

/// One more notification of `from` than was waited for so far; how many have come. Errors: invalid_argument, peer_dead.
Result<std::uint32_t> wait_for_notification(Job& job, Rank from);

}  // namespace grapnel::armci
