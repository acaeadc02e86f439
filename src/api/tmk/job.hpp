// The running job behind Tmk.h: the runtime, the shared heap, and how a mistake ends the job.
//
// Threads: as Tmk.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "api/tmk/distribution.hpp"
#include "grapnel/runtime.hpp"

namespace grapnel::tmk {

struct Job {
  std::unique_ptr<Runtime> runtime;
  SharedHeap heap;
  pid_t process = 0;       ///< a child of fork inherits the rest, and must not use it
  std::vector<bool> held;  ///< by number, the locks of the program that this process holds
  Distribution distribution;
};

/// Null before Tmk_startup and after the end.
extern Job* the_job;

/// The running job. Where there is none the process ends with a sentence that names `call`.
Job& job_of(const char* call);

/// Ends the job with `why` as its message; the process alone where no job runs.
[[noreturn]] void stop(const std::string& why, int exit_code = 1);
/// The same for a call that failed.
void must(const char* call, const Status& status);

}  // namespace grapnel::tmk
