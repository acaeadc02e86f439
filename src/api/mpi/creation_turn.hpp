// One creation or end of a window at a time in the job, where a rank's threads may do several at once.
//
// The core has one collective call at a time per rank. With MPI_THREAD_MULTIPLE two threads of a rank may create
// windows of two communicators, and another rank in the opposite order. So the members meet; then the first one takes
// the job's one lock, and sends the others a word over the communicator; all do their part, meet, and the first member
// gives the lock back. No rank waits for the lock inside the core's collective calls, and its holder waits for no rank
// that has not come yet. Below MPI_THREAD_MULTIPLE nothing happens.
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

/// A call of this rank alone that the core takes while none is in one of its collective calls. Waits for a turn of this
/// rank at most, and that waits for no rank that has not come.
class OwnTurn {
 public:
  OwnTurn();
  ~OwnTurn();
  OwnTurn(const OwnTurn&) = delete;
  OwnTurn& operator=(const OwnTurn&) = delete;
};

}  // namespace grapnel::front
