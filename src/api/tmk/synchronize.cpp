// Locks and barriers. Each acquire ends with a look at what was distributed.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "Tmk.h"
#include "api/tmk/job.hpp"

namespace grapnel::tmk {
namespace {

/// The job, where its locks have this number.
Job& job_with_lock(const char* call, unsigned number) {
  Job& job = job_of(call);
  const std::size_t count = job.held.size();
  if (number < count) [[likely]]
    return job;
  stop(fmt::format("{}: lock {} is not below {} ({})", call, number, count,
                   count == TMK_NLOCKS ? "TMK_NLOCKS" : "GRAPNEL_DSM_LOCKS"));
}

}  // namespace
}  // namespace grapnel::tmk

using namespace grapnel::tmk;

GRAPNEL_API void Tmk_barrier(unsigned number) {
  Job& job = job_of("Tmk_barrier");
  if (number >= TMK_NBARRIERS) {
    stop(fmt::format("Tmk_barrier: barrier {} is not below {} (TMK_NBARRIERS)", number, TMK_NBARRIERS));
  }
  must("Tmk_barrier", job.heap.barrier(static_cast<int>(number)));
  must("Tmk_barrier", job.distribution.take_new());
}

GRAPNEL_API void Tmk_lock_acquire(unsigned number) {
  Job& job = job_with_lock("Tmk_lock_acquire", number);
  if (job.held[number]) {
    stop(fmt::format("Tmk_lock_acquire: process {} holds lock {} already; a lock is not re-entrant", Tmk_proc_id,
                     number));
  }
  must("Tmk_lock_acquire", job.heap.lock(static_cast<int>(number)));
  job.held[number] = true;
  must("Tmk_lock_acquire", job.distribution.take_new());
}

GRAPNEL_API void Tmk_lock_release(unsigned number) {
  Job& job = job_with_lock("Tmk_lock_release", number);
  if (!job.held[number]) {
    stop(fmt::format("Tmk_lock_release: process {} does not hold lock {}; Tmk_lock_acquire comes first", Tmk_proc_id,
                     number));
  }
  job.held[number] = false;
  must("Tmk_lock_release", job.heap.unlock(static_cast<int>(number)));
}
