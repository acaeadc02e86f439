// The memory of a window: what MPI_Win_attach exposes, and what MPI_Win_shared_query answers.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/mpi/calls.hpp"
#include "api/mpi/creation_turn.hpp"
#include "api/mpi/errors.hpp"
#include "api/mpi/job.hpp"

namespace grapnel::front {
namespace {

using window::Flavor;
using window::Window;

/// The first member with memory, which a query of MPI_PROC_NULL means. -1: none.
int first_with_memory(const Window& window) {
  for (int place = 0; place < window.size(); ++place) {
    if (window.bytes_of(place) != 0) return place;
  }
  return -1;
}

/// Whether the caller reaches that member's memory by loads and stores at the address that the window names.
bool is_shared(const Window& window, int place) {
  if (place == window.my_place()) return true;
  return window.part(place).is_near && window.flavor() != Flavor::created;
}

template <typename Unit>
int query(const Taken& taken, int rank, MPI_Aint* size, Unit* unit, void* base) {
  const char* const call = "MPI_Win_shared_query";
  const Window& window = *taken.window;
  if (window.flavor() == Flavor::dynamic) {
    return raise(taken, call, MPI_ERR_RMA_FLAVOR, "a dynamic window has no memory of its own");
  }
  if (rank != MPI_PROC_NULL && (rank < 0 || rank >= window.size())) {
    return raise(taken, call, MPI_ERR_RANK,
                 fmt::format("rank is {}; the window has ranks 0..{}", rank, window.size() - 1));
  }
  const int place = rank == MPI_PROC_NULL ? first_with_memory(window) : rank;
  const bool found = place >= 0 && is_shared(window, place);
  *size = found ? static_cast<MPI_Aint>(window.bytes_of(place)) : 0;
  *unit = static_cast<Unit>(place >= 0 ? window.unit_of(place) : 1);
  *static_cast<void**>(base) = found ? window.base_of(place) : nullptr;
  return MPI_SUCCESS;
}

}  // namespace

int Win_attach(const Calls& next, MPI_Win win, void* base, MPI_Aint size) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_attach(win, base, size);
  const char* const call = "MPI_Win_attach";
  if (size < 0) return raise(*taken, call, MPI_ERR_SIZE, fmt::format("size is {}; it may not be negative", size));
  const OwnTurn turn;
  return answer(*taken, call, taken->window->attach(base, static_cast<std::size_t>(size)));
}

int Win_detach(const Calls& next, MPI_Win win, const void* base) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_detach(win, base);
  const OwnTurn turn;
  return answer(*taken, "MPI_Win_detach", taken->window->detach(base));
}

int Win_shared_query(const Calls& next, MPI_Win win, int rank, MPI_Aint* size, int* unit, void* base) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_shared_query(win, rank, size, unit, base);
  return query(*taken, rank, size, unit, base);
}

#if MPI_VERSION >= 4
int Win_shared_query_c(const Calls& next, MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* unit, void* base) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_shared_query_c(win, rank, size, unit, base);
  return query(*taken, rank, size, unit, base);
}
#endif

}  // namespace grapnel::front
