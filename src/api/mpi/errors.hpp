// The code that a call returns: MPI's class of the mistake, after the window's error handler.
//
// Arguments are checked in MPI's order: window, count, type, rank, displacement, operation; then the epoch. A wrong
// call changes nothing. An error that ends the program is preceded by a line on stderr with the call, the argument and
// its value.
//
//   Fault            class                       Fault         class
//   synchronization  MPI_ERR_RMA_SYNC            displacement  MPI_ERR_DISP
//   rank             MPI_ERR_RANK                range         MPI_ERR_RMA_RANGE
//   count            MPI_ERR_COUNT               attach        MPI_ERR_RMA_ATTACH
//   type             MPI_ERR_TYPE                flavor        MPI_ERR_RMA_FLAVOR
//   operation        MPI_ERR_OP                  failed        MPI_ERR_NO_MEM where memory is short, else MPI_ERR_OTHER
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>

#include "api/mpi/handles.hpp"
#include "window/outcome.hpp"

namespace grapnel::front {

/// Raises an error of `error_class` on the window, and returns the code that the call returns.
int raise(const Taken& taken, const char* call, int error_class, const std::string& text);
/// The same for a creation, on the communicator's error handler.
int raise(MPI_Comm comm, const char* call, int error_class, const std::string& text);

int class_of(const window::Outcome& outcome);
/// Ends the job where a member died and the error handler is a fatal one.
int raise(const Taken& taken, const char* call, const window::Outcome& outcome);
int raise(MPI_Comm comm, const char* call, const window::Outcome& outcome);

/// MPI_SUCCESS, or the error after its handler.
inline int answer(const Taken& taken, const char* call, const window::Outcome& outcome) {
  if (outcome.ok()) [[likely]]
    return MPI_SUCCESS;
  return raise(taken, call, outcome);
}

}  // namespace grapnel::front
