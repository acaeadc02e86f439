// Barriers of the face: the core's, during which MPI goes on.
//
// MPI's own barrier spins, for milliseconds where more ranks than processors take part. But a rank that waits in MPI
// also sends what MPI has kept back of earlier messages: a program may count on that, and MPI_Send and MPI_Bcast, which
// return when their message is on its way, do too. So the core's barrier is waited for in pieces, and between them MPI
// is called. Threads: where MPI may be called by this thread only.
#pragma once

#include "face/armci/job.hpp"
#include "grapnel/status.hpp"

namespace grapnel::armci {

/// Collective over a core group. All members' puts and accumulates are complete, and all have arrived.
Status run_barrier(Job& job, const Group& group);

}  // namespace grapnel::armci
