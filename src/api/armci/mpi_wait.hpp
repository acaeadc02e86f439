// Waits for what MPI was asked to do, by the core's wait policy.
//
// MPI's blocking calls spin. Where more ranks than processors wait, whoever has the next step to do gets no processor
// until a spinner's time slice ends: a reduction of 8 bytes takes milliseconds. So operations are started and tested:
// shortly in a spin that yields, then between naps. Long data is left to MPI, which moves it in pieces while it
// is called. Threads: the caller's, which may enter MPI, for it has.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "grapnel/status.hpp"

namespace grapnel::armci {

/// Returns when `request` is complete; `bytes` says how much data it moves, alike in all ranks of a collective. Cost: a
/// nap's length late at most: 1/2 of what was waited up to 250 us, then 1/32 of it up to 1 ms. Before ARMCI_Init, too.
/// Errors: peer_dead; system: what MPI itself reports.
Status wait_for_mpi(MPI_Request request, std::int64_t bytes, MPI_Status* status = MPI_STATUS_IGNORE);

}  // namespace grapnel::armci
