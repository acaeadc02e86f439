// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/errors.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "api/mpi/job.hpp"
#include "base/units.hpp"
#include "os/host.hpp"

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

MPI_Errhandler handler_of(const Taken& taken) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Win_get_errhandler(taken.handle, &handler);
  return handler;
}

MPI_Errhandler handler_of(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm, &handler);
  return handler;
}

// A predefined handler need not be freed, and one MPI forbids it.
bool is_fatal_and_free(MPI_Errhandler handler) {
  const bool fatal = is_fatal(handler);
  const bool keeps = handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN || handler == MPI_ERRHANDLER_NULL;
  if (!keeps) PMPI_Errhandler_free(&handler);
  return fatal;
}

void announce(MPI_Errhandler handler, const char* call, const std::string& text) {
  if (is_fatal_and_free(handler)) std::fprintf(stderr, "grapnel: %s: %s\n", call, text.c_str());
}

// The launcher ends the job with one message; the handler of every survivor would print its own. Where no launcher does
// that in this time, the rank ends the job.
constexpr std::uint64_t kForTheLauncher_ns = 2 * base::kSecond_ns;

void end_after_death(MPI_Errhandler handler, const char* call, const window::Outcome& outcome) {
  const bool fatal = is_fatal_and_free(handler);
  if (!fatal || outcome.code() != Code::peer_dead) return;
  os::Word never_woken{0};
  the_job->waiting->host().wait(never_woken, 0, kForTheLauncher_ns);
  the_job->runtime->abort(1, fmt::format("{}: {}", call, outcome.message()));
}

}  // namespace

int raise(const Taken& taken, const char* call, int error_class, const std::string& text) {
  announce(handler_of(taken), call, text);
  PMPI_Win_call_errhandler(taken.handle, error_class);
  return error_class;
}

int raise(MPI_Comm comm, const char* call, int error_class, const std::string& text) {
  announce(handler_of(comm), call, text);
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
  end_after_death(handler_of(taken), call, outcome);
  return raise(taken, call, class_of(outcome), outcome.message());
}

int raise(MPI_Comm comm, const char* call, const window::Outcome& outcome) {
  end_after_death(handler_of(comm), call, outcome);
  return raise(comm, call, class_of(outcome), outcome.message());
}

}  // namespace grapnel::front
