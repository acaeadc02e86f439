// Waiting beside MPI: for MPI's own requests by the core's wait policy, and for other ranks while MPI goes on.
//
// MPI's blocking calls spin. Where more ranks than processors wait, the rank that has the next step to do gets no
// processor until a spinner's time slice ends: a reduction of 8 bytes takes milliseconds. So operations are started
// and tested: shortly in a spin that yields, then between naps. Long data is left to MPI, which moves it in pieces
// while it is called.
//
// A rank that waits in MPI also sends what MPI has kept back of earlier messages, and a program may count on that: the
// other rank may be waiting for just such a message before it enters the barrier or gives the lock away. So a wait of
// the core's for another rank is cut into pieces, between which MPI is called.
// Threads: one that may call MPI.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include "base/units.hpp"
#include "grapnel/status.hpp"
#include "progress/waiting.hpp"

namespace grapnel::mpi {

/// Returns when `request` is complete; `bytes`: how much data it moves, the same in all ranks of a collective. Null
/// `waiting` (no job): by MPI's own wait. Cost: a nap's length late at most: 1/2 of what was waited up to 250 us, then
/// 1/32 of it up to 1 ms. Errors: peer_dead; system: what MPI itself reports.
Status wait_for(progress::Waiting* waiting, MPI_Request request, std::int64_t bytes,
                MPI_Status* status = MPI_STATUS_IGNORE);

/// Whether this thread may call MPI although its program called something else.
bool may_enter();
/// One look at what has arrived on `comm`: MPI moves what it has kept back. Where `may_enter`.
void let_progress(MPI_Comm comm);

/// Waits by `wait_within(ns)`, which waits for at most so long and returns a Result<bool>: whether it is over; between
/// these MPI goes on. What MPI keeps back is rare and soon gone, so the pieces grow from 1 ms, to 16 ms at most: none
/// is so long that the rest would never end. Errors: those of `wait_within`.
template <typename WaitWithin>
Status wait_in_pieces(MPI_Comm comm, WaitWithin wait_within) {
  constexpr std::uint64_t kLongest_ns = 16 * base::kMillisecond_ns;
  for (std::uint64_t piece_ns = base::kMillisecond_ns;; piece_ns = std::min(2 * piece_ns, kLongest_ns)) {
    const Result<bool> over = wait_within(piece_ns);
    if (!over) return over.status();
    if (*over) return {};
    if (may_enter()) let_progress(comm);
  }
}

}  // namespace grapnel::mpi
