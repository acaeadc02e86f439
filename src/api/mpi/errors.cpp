// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/errors.hpp"

#include <cstdio>

namespace grapnel::front {
namespace {

/// Open MPI has two handlers that end the program, with one meaning here.
bool is_fatal(MPI_Errhandler handler) {
#if MPI_VERSION >= 4
  return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT;
#else
  return handler == MPI_ERRORS_ARE_FATAL;
#endif
}

void announce(MPI_Errhandler handler, const char* call, const std::string& text) {
  if (is_fatal(handler)) std::fprintf(stderr, "grapnel: %s: %s\n", call, text.c_str());
  // A predefined handler need not be freed, and one MPI forbids it.
  if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN) PMPI_Errhandler_free(&handler);
}

}  // namespace

int raise(const Taken& taken, const char* call, int error_class, const std::string& text) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Win_get_errhandler(taken.handle, &handler) == MPI_SUCCESS) announce(handler, call, text);
  PMPI_Win_call_errhandler(taken.handle, error_class);
  return error_class;
}

int raise(MPI_Comm comm, const char* call, int error_class, const std::string& text) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) announce(handler, call, text);
  PMPI_Comm_call_errhandler(comm, error_class);
  return error_class;
}

int class_of(const window::Outcome& outcome) {
  switch (outcome.fault()) {
    case window::Fault::none: return MPI_SUCCESS;
    case window::Fault::synchronization: return MPI_ERR_RMA_SYNC;
    case window::Fault::rank: return MPI_ERR_RANK;
    case window::Fault::count: return MPI_ERR_COUNT;
    case window::Fault::type: return MPI_ERR_TYPE;
    case window::Fault::operation: return MPI_ERR_OP;
    case window::Fault::displacement: return MPI_ERR_DISP;
    case window::Fault::range: return MPI_ERR_RMA_RANGE;
    case window::Fault::attach: return MPI_ERR_RMA_ATTACH;
    case window::Fault::flavor: return MPI_ERR_RMA_FLAVOR;
    case window::Fault::failed: break;
  }
  return outcome.code() == Code::no_memory ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
}

int raise(const Taken& taken, const char* call, const window::Outcome& outcome) {
  return raise(taken, call, class_of(outcome), outcome.message());
}

}  // namespace grapnel::front
