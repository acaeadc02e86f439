// The job of the program's MPI: from MPI_Init to MPI_Finalize, over MPI_COMM_WORLD.
//
// It starts in MPI_Init or MPI_Init_thread, after the host's. It ends by an attribute of MPI_COMM_SELF that is set
// before the program can set one: MPI deletes it last, so callbacks of the program that free windows in MPI_Finalize
// still find the job. Without a job every call passes to the host: before MPI_Init, with GRAPNEL_WINDOWS=off, in a
// program of the other MPI, and where the start failed, which is a warning of rank 0.
// Threads: the pointer changes only in MPI_Init and MPI_Finalize.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <vector>

#include "api/mpi/handles.hpp"
#include "api/mpi/statistics.hpp"
#include "base/mutex.hpp"
#include "grapnel/lock_set.hpp"
#include "grapnel/runtime.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "mpi/wait.hpp"
#include "progress/between_sleeps.hpp"
#include "progress/waiting.hpp"
#include "window/windows.hpp"

namespace grapnel::front {

struct Job {
  std::unique_ptr<Runtime> runtime;
  window::Windows* windows = nullptr;    ///< of `runtime`
  progress::Waiting* waiting = nullptr;  ///< of `runtime`
  MPI_Comm self = MPI_COMM_NULL;         ///< a duplicate of MPI_COMM_SELF; returns errors
  /// A duplicate of MPI_COMM_WORLD without messages: to look for one there makes MPI progress. Not `self`: MPICH looks
  /// for messages of the caller to itself without progress.
  MPI_Comm quiet = MPI_COMM_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  bool many_threads = false;  ///< MPI_THREAD_MULTIPLE
  // With many_threads: creation_turn.hpp.
  base::Mutex creation_mutex;
  base::Mutex core_mutex;  ///< taken after it; its holder is in the core's collective calls
  LockSet creation_lock;
  base::Mutex own_mutex;
  std::map<void*, Memory> own_memory GRAPNEL_GUARDED_BY(own_mutex);  ///< of MPI_Alloc_mem
  bool prints_statistics = false;
  Handles handles;
  Statistics statistics;
};

/// Null: no job.
extern Job* the_job;

/// The window behind a handle; null: the host's.
inline Taken* find(MPI_Win handle) { return the_job != nullptr ? the_job->handles.find(handle) : nullptr; }

/// The host's barrier, waited for by the core's wait policy. Collective over `comm`. Errors: peer_dead, system.
Status host_barrier(MPI_Comm comm);

/// While it lives, waits of this thread are of the public `call`, and MPI makes progress between their sleeps. Costs
/// some ns.
class MpiCall {
 public:
  explicit MpiCall(const char* call) : scope_(call), between_(run_) {}

 private:
  struct Run {
    void operator()() const { mpi::let_progress(the_job->quiet); }
  };
  const Run run_{};
  progress::WaitScope scope_;
  progress::BetweenSleeps between_;
};

}  // namespace grapnel::front
