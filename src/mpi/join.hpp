// A program that has started MPI: its communicator is the job. Front ends link this layer, libgrapnel does not.
//
// Threads: start, fence and finalize call MPI, in the calling thread alone: MPI_THREAD_FUNNELED is enough. MPI_Abort
// may come from another thread, at a job's end by failure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>

#include "launch/launch.hpp"

namespace grapnel::mpi {

/// Collective over `comm`, an intracommunicator; it is duplicated, and what the program sends over it is never seen
/// here. Ranks are those of `comm`. MPI must live until `finalize` is through: after MPI_Finalize a fence is an error,
/// and `finalize` only announces the end. Sets, changes or removes no variable of the environment. Errors: unavailable
/// (MPI is not initialised or already finalised; this process was started as one of several, but its MPI knows only
/// itself), invalid_argument (a null or intercommunicator), system (MPI's error), and those of start-up. Cost: five
/// collectives of MPI; its error handler on `comm` is used for the first one.
Result<std::unique_ptr<launch::Launch>> join(MPI_Comm comm, const base::Config& config, os::Host& host);

/// ok, or why this process's MPI cannot carry a job: not initialised, finalised, or alone though a launcher started it
/// as one of several (a program built with another MPI than its launcher's). Local.
Status check_mpi();

}  // namespace grapnel::mpi
