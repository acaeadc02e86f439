// SPDX-License-Identifier: Apache-2.0
#include "api/armci/errors.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "api/armci/define.hpp"
#include "base/log.hpp"
#include "mpi/status.hpp"

namespace grapnel::armci {
namespace {

int result_of(Code code) {
  switch (code) {
    case Code::ok: return 0;
    case Code::invalid_argument: return FAIL;
    case Code::no_memory: return FAIL2;
    case Code::unavailable: return FAIL3;
    case Code::timed_out: return FAIL4;
    case Code::peer_dead: return FAIL5;
    case Code::refused: return FAIL6;
    case Code::system: return FAIL7;
  }
  return FAIL;
}

std::string not_started(const char* call) {
  return fmt::format("{}: called before ARMCI_Init or after ARMCI_Finalize", call);
}

}  // namespace

int report(const char* call, const Status& failure) {
  base::log_error("{}: {}", call, failure.message());
  return result_of(failure.code());
}

int report_not_started(const char* call) {
  base::log_error("{}", not_started(call));
  return FAIL8;
}

void stop(const char* call, const Status& failure) { stop_job(fmt::format("{}: {}", call, failure.message()), 1); }

void stop_not_started(const char* call) { stop_job(not_started(call), 1); }

void stop_job(const std::string& text, int exit_code) {
  // The system keeps 8 bits of it; a job that was stopped must not look like one that ended well.
  const int code = (exit_code & 0xff) == 0 ? 1 : exit_code;
  if (the_job != nullptr) the_job->runtime->abort(code, text);
  base::log_error("{}", text);
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

void must_mpi(const char* call, int code) {
  if (const Status status = mpi::status_of(code); !status.ok()) stop(call, status);
}

Status negative(const char* argument, long value) {
  return {Code::invalid_argument, fmt::format("{} is {}; it must not be below 0", argument, value)};
}

Status null_pointer(const char* argument) { return {Code::invalid_argument, fmt::format("{} is NULL", argument)}; }

Status bad_rank(long rank, long ranks) {
  return {Code::invalid_argument, fmt::format("rank {} is outside 0..{}", rank, ranks - 1)};
}

}  // namespace grapnel::armci

using namespace grapnel::armci;

ARMCI_DEFINE(void, Error, (const char* msg, int code)) {
  stop_job(fmt::format("{} (code {})", msg != nullptr ? msg : "ARMCI_Error", code), code);
}

ARMCI_DEFINE(void, Cleanup, (void)) {}
