// One creation or end of a window at a time in the job, where a rank's threads may do several at once.
//
// The core has one collective call at a time per rank. With MPI_THREAD_MULTIPLE two threads of a rank may create
// windows of two communicators, and another rank in the opposite order. So the members enter a barrier; then the first
// member takes the job's one lock, and broadcasts a word over the communicator; all members do their part and enter a
// second barrier, and the first member releases the lock. No rank waits for the lock inside the core's collective
// calls, and its holder waits only for ranks that have entered the first barrier. Below MPI_THREAD_MULTIPLE nothing
// happens.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "grapnel/status.hpp"

namespace grapnel::front {

class CreationTurn {
 public:
  /// Collective over `comm`.
  explicit CreationTurn(MPI_Comm comm);
  ~CreationTurn();
  CreationTurn(const CreationTurn&) = delete;
  CreationTurn& operator=(const CreationTurn&) = delete;

 private:
  const MPI_Comm comm_;
  bool holds_ = false;
};

/// A call of this rank alone, for which no thread may be in a collective call of the core. It waits at most for a
/// CreationTurn of this rank, all of whose members are in that turn.
class OwnTurn {
 public:
  OwnTurn();
  ~OwnTurn();
  OwnTurn(const OwnTurn&) = delete;
  OwnTurn& operator=(const OwnTurn&) = delete;
};

}  // namespace grapnel::front
