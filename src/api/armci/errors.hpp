// What a call returns: 0, or a negative number after one line; calls without a result stop the job with that line.
//
// Every call runs its body through `answer` or `must`, which also refuse calls outside ARMCI_Init … ARMCI_Finalize. The
// line names the call, the argument and its value: the body's Status has the latter two.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "api/armci/job.hpp"
#include "grapnel/status.hpp"

namespace grapnel::armci {

/// Writes the line and gives the call's result. Out of the way of what works.
int report(const char* call, const Status& failure);
int report_not_started(const char* call);

/// Ends the job everywhere, with the line as its one message.
[[noreturn]] void stop(const char* call, const Status& failure);
[[noreturn]] void stop_not_started(const char* call);
/// The same with a text and an exit code of the program's.
[[noreturn]] void stop_job(const std::string& text, int exit_code);

/// For an argument below 0.
Status negative(const char* argument, long value);
Status null_pointer(const char* argument);
Status bad_rank(long rank, long ranks);

/// Stops the job where `code` is an error of MPI's. ARMCI's communicators return errors, so each call on them is
/// looked at; before ARMCI_Init the communicator, and what an error does there, is the program's.
void must_mpi(const char* call, int code);

/// A body answers a Status; the call an int.
template <typename Body>
int answer(const char* call, Body&& body) {
  Job* const job = the_job;
  if (job == nullptr) [[unlikely]]
    return report_not_started(call);
  const Status status = body(*job);
  if (!status.ok()) [[unlikely]]
    return report(call, status);
  return 0;
}

/// A body answers a Status; the call nothing.
template <typename Body>
void must(const char* call, Body&& body) {
  Job* const job = the_job;
  if (job == nullptr) [[unlikely]]
    stop_not_started(call);
  const Status status = body(*job);
  if (!status.ok()) [[unlikely]]
    stop(call, status);
}

/// A body answers a Result; the call its value.
template <typename Body>
auto value_of(const char* call, Body&& body) {
  Job* const job = the_job;
  if (job == nullptr) [[unlikely]]
    stop_not_started(call);
  auto result = body(*job);
  if (!result.ok()) [[unlikely]]
    stop(call, result.status());
  return *std::move(result);
}

}  // namespace grapnel::armci
