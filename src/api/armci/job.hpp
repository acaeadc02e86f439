// What a process has between ARMCI_Init and ARMCI_Finalize, behind the front end's one global pointer.
//
// Threads: the pointer changes only in ARMCI_Init and ARMCI_Finalize, which no other call may overlap. Tables that more
// than one thread may touch have their own lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "api/armci/groups.hpp"
#include "base/mutex.hpp"
#include "collective/collectives.hpp"
#include "grapnel/runtime.hpp"
#include "locks/lock_set.hpp"
#include "locks/locks.hpp"
#include "progress/waiting.hpp"
#include "rma/rma.hpp"
#include "sync/barrier.hpp"
#include "sync/notifications.hpp"

namespace grapnel::armci {

inline constexpr std::size_t kCacheLine = 64;

/// A buffer of ARMCI_Malloc_local.
struct DeleteLocal {
  void operator()(std::byte* buffer) const { ::operator delete[](buffer, std::align_val_t{kCacheLine}); }
};
using LocalBuffer = std::unique_ptr<std::byte[], DeleteLocal>;

struct Job {
  std::unique_ptr<Runtime> runtime;
  rma::Rma* rma = nullptr;               ///< of `runtime`: the inline ways of put, get, accumulate and atomics
  progress::Waiting* waiting = nullptr;  ///< of `runtime`
  // Of `runtime`: what is waited for in pieces.
  sync::Barriers* barriers = nullptr;
  sync::Notifications* notifications = nullptr;
  collective::Collectives* collectives = nullptr;
  locks::Locks* lock_sets = nullptr;  ///< of `runtime`
  std::shared_ptr<locks::Set> locks;  ///< the mutexes, if there are any
  int me = 0;
  int ranks = 0;
  int starts = 1;  ///< ARMCI_Init less ARMCI_Finalize

  Groups groups;
  std::vector<int> mutexes;  ///< how many are at home in each rank; empty where there are none
  std::vector<std::atomic<std::uint32_t>> notified, awaited;  ///< by rank: armci_notify sent, armci_notify_wait done
  base::Mutex own_mutex;
  std::map<void*, LocalBuffer> local_buffers GRAPNEL_GUARDED_BY(own_mutex);
  std::map<void*, Memory> offered GRAPNEL_GUARDED_BY(own_mutex);  ///< by ARMCI_Memget
};

/// Null outside ARMCI_Init … ARMCI_Finalize.
extern Job* the_job;

/// The world of an ARMCI_Init that names none: what armci_msg_init_comm named, else MPI's. MPI runs.
MPI_Comm initial_comm();

}  // namespace grapnel::armci
