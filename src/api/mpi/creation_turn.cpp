// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/creation_turn.hpp"

#include "api/mpi/job.hpp"
#include "mpi/wait.hpp"

namespace grapnel::front {
namespace {

constexpr Rank kHome{0};

// A death ends the job; no other failure stops a turn: statuses are dropped here.

void wait_for_first(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  char word = 0;
  PMPI_Ibcast(&word, 1, MPI_CHAR, 0, comm, &request);
  static_cast<void>(mpi::wait_for(the_job->waiting, request, 1));
}

void meet(MPI_Comm comm) { static_cast<void>(host_barrier(comm)); }

}  // namespace

CreationTurn::CreationTurn(MPI_Comm comm) : comm_(comm) {
  if (!the_job->many_threads) return;
  meet(comm);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  holds_ = rank == 0;
  if (holds_) {
    the_job->creation_mutex.lock();  // the lock is the rank's: its threads take it one after the other
    const MpiCall scope("MPI_Win_create");
    static_cast<void>(the_job->creation_lock.lock(0, kHome));
  }
  wait_for_first(comm);
  the_job->core_mutex.lock();
}

CreationTurn::~CreationTurn() {
  if (!the_job->many_threads) return;
  the_job->core_mutex.unlock();
  meet(comm_);
  if (!holds_) return;
  static_cast<void>(the_job->creation_lock.unlock(0, kHome));
  the_job->creation_mutex.unlock();
}

OwnTurn::OwnTurn() {
  if (the_job->many_threads) the_job->core_mutex.lock();
}

OwnTurn::~OwnTurn() {
  if (the_job->many_threads) the_job->core_mutex.unlock();
}

}  // namespace grapnel::front
