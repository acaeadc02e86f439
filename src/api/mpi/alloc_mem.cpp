// MPI_Alloc_mem and MPI_Free_mem: memory of a segment, so that a window on it is reached as an allocated one is.
//
// It is an allocation of a group of this rank alone: no other rank takes part. The host allocates with
// MPI_THREAD_MULTIPLE, for the core allocates in one thread at a time; without a job; for no bytes; and where segments
// have no room.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <utility>

#include "api/mpi/calls.hpp"
#include "api/mpi/job.hpp"

namespace grapnel::front {
namespace {

Result<Group> own_group(const Job& job) {
  const std::array<Rank, 1> members = {job.runtime->rank()};
  return job.runtime->make_group(members);
}

/// Null: the host allocates.
void* allocate_own(Job& job, MPI_Aint size) {
  if (job.many_threads || size <= 0) return nullptr;
  const auto group = own_group(job);
  if (!group.ok()) return nullptr;
  const auto memory = job.runtime->allocate(*group, static_cast<std::size_t>(size));
  if (!memory.ok()) return nullptr;
  void* const address = memory->local();
  const base::MutexLock lock(job.own_mutex);
  job.own_memory.emplace(address, *memory);
  return address;
}

/// None: memory of the host.
std::optional<Memory> forget_own(Job& job, void* base) {
  const base::MutexLock lock(job.own_mutex);
  const auto found = job.own_memory.find(base);
  if (found == job.own_memory.end()) return std::nullopt;
  Memory memory = std::move(found->second);
  job.own_memory.erase(found);
  return memory;
}

}  // namespace

int Alloc_mem(const Calls& next, MPI_Aint size, MPI_Info info, void* base) {
  void* const own = the_job == nullptr ? nullptr : allocate_own(*the_job, size);
  if (own == nullptr) return next.Alloc_mem(size, info, base);
  *static_cast<void**>(base) = own;
  return MPI_SUCCESS;
}

int Free_mem(const Calls& next, void* base) {
  auto memory = the_job == nullptr ? std::nullopt : forget_own(*the_job, base);
  if (!memory) return next.Free_mem(base);
  const auto group = own_group(*the_job);
  if (group.ok() && the_job->runtime->free(*group, *memory).ok()) return MPI_SUCCESS;
  PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_BASE);
  return MPI_ERR_BASE;
}

}  // namespace grapnel::front
