// Waiting beside MPI: for MPI's own requests by the core's wait policy, and for other ranks while MPI makes progress.
//
// MPI's blocking calls spin. Where more ranks than processors wait, the rank that has the next step to do gets no
// processor until a spinner's time slice ends: a reduction of 8 bytes takes milliseconds. So operations are started
// and tested: shortly in a spin that yields, then between naps. Long data is left to MPI, which moves it in pieces
// while it is called.
//
// A rank that waits in MPI also sends what MPI has kept back of earlier messages, and a program may count on that: the
// other rank may be waiting for just such a message before it enters the barrier or gives the lock away. So MPI is
// called between the sleeps of a wait for another rank: progress::BetweenSleeps with `let_progress`.
// Threads: one that may call MPI.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>

#include "grapnel/status.hpp"
#include "progress/waiting.hpp"

namespace grapnel::mpi {

/// Returns when `request` is complete; `bytes`: how much data it moves, the same in all ranks of a collective. Null
/// `waiting` (no job): by MPI's own wait. Cost: a nap's length late at most: 1/2 of what was waited up to 250 us, then
/// 1/32 of it up to 1 ms. Errors: peer_dead; system: what MPI itself reports.
Status wait_for(progress::Waiting* waiting, MPI_Request request, std::int64_t bytes,
                MPI_Status* status = MPI_STATUS_IGNORE);

/// MPI sends what it has kept back, and serves what came, if its thread level lets this thread call it although the
/// program did not. `comm`: of all ranks whose MPI may wait for this one's, without messages.
void let_progress(MPI_Comm comm);

}  // namespace grapnel::mpi
