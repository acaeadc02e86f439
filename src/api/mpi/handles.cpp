// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/handles.hpp"

#include "api/mpi/calls.hpp"

namespace grapnel::front {

constinit thread_local Handles::Last Handles::last_{};

Taken* Handles::find_other(MPI_Win handle, std::uint64_t change) const {
  Taken* const found = table_.find(handle);
  last_ = {change, handle, found};
  return found;
}

void Handles::add(std::unique_ptr<Taken> taken) {
  const base::MutexLock lock(mutex_);
  table_.add(taken->handle, taken.get());
  taken.release();  // the table's
  changes_.fetch_add(1, std::memory_order_release);
}

std::unique_ptr<Taken> Handles::remove(Taken* taken) {
  const base::MutexLock lock(mutex_);
  // The host has freed the carrier: another thread's new window may have its handle already.
  if (table_.find(taken->handle) == taken) table_.remove(taken->handle);
  changes_.fetch_add(1, std::memory_order_release);
  return std::unique_ptr<Taken>(taken);
}

Handles::~Handles() {
  table_.for_each([](Taken* taken) { delete taken; });
}

// Open MPI refuses MPI_Win_create on one process; MPICH ends the program in MPI_Win_allocate where its contexts run
// out, and answers an error in MPI_Win_create.
int make_carrier(MPI_Comm self, MPI_Win* carrier) {
#ifdef OPEN_MPI
  void* base = nullptr;
  const int code = host().Win_allocate(0, 1, MPI_INFO_NULL, self, &base, carrier);
  if (code == MPI_SUCCESS) return code;
#endif
  return host().Win_create(nullptr, 0, 1, MPI_INFO_NULL, self, carrier);
}

}  // namespace grapnel::front
