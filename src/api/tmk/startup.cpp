// Tmk_startup, and the end: Tmk_exit, exit and a return from main are one.
//
// Tmk_exit calls exit. What ends the job is a function that Tmk_startup registers with on_exit: it gets the status, and
// runs after the functions that the program registered later and before those registered earlier.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "Tmk.h"
#include "api/tmk/heap_range.hpp"
#include "api/tmk/job.hpp"
#include "api/tmk/signal_calls.hpp"

GRAPNEL_API unsigned Tmk_proc_id = 0;
GRAPNEL_API unsigned Tmk_nprocs = 1;

namespace grapnel::tmk {
namespace {

/// The heap's number of the barrier in which processes wait for each other's end; no number of a program.
constexpr int kExitBarrier = -1;

Status open_heap(Job& job) {
  const int size = job.runtime->size();
  if (size > TMK_NPROCS) {
    return {Code::invalid_argument, fmt::format("{} processes; TMK_NPROCS allows {}", size, TMK_NPROCS)};
  }
  // The program cannot name two: that of PARMACS, behind its own, and that of the distribution.
  GRAPNEL_ASSIGN_OR_RETURN(job.heap, job.runtime->open_shared_heap({.more_locks = 2}));
  const int locks = job.heap.locks();
  job.held.assign(static_cast<std::size_t>(locks - 2), false);
  return job.distribution.open(*job.runtime, job.heap, locks - 1);
}

// Nothing but the destructor may be called after `finish`, so its failure ends this process alone; the launcher ends
// the others.
void leave() {
  must("Tmk_exit", the_job->heap.barrier(kExitBarrier));
  hide_heap();
  const std::unique_ptr<Job> job(std::exchange(the_job, nullptr));
  must("Tmk_exit", job->runtime->finish());
}

// The system keeps 8 bits of a status; a job that was stopped must not look like one that ended well.
void on_exit_of_process(int status, void*) {
  if (the_job == nullptr || ::getpid() != the_job->process) return;
  if (status == 0) return leave();
  const int code = (status & 0xff) == 0 ? 1 : status & 0xff;
  stop(fmt::format("process {} ended with status {}", Tmk_proc_id, status), code);
}

}  // namespace
}  // namespace grapnel::tmk

using namespace grapnel::tmk;

GRAPNEL_API void Tmk_startup(int, char**) {
  if (the_job != nullptr) stop("Tmk_startup: called a second time");
  auto started = grapnel::Runtime::start();
  if (!started) {
    std::fprintf(stderr, "Tmk_startup: %s\n", started.status().message().c_str());
    std::exit(1);
  }
  the_job = new Job;
  the_job->runtime = *std::move(started);
  the_job->process = ::getpid();
  unblock_fault_signals();
  must("Tmk_startup", open_heap(*the_job));
  show_heap(the_job->heap);
  Tmk_proc_id = static_cast<unsigned>(the_job->runtime->rank());
  Tmk_nprocs = static_cast<unsigned>(the_job->runtime->size());
  if (::on_exit(on_exit_of_process, nullptr) != 0) stop("Tmk_startup: on_exit takes no more functions");
}

GRAPNEL_API void Tmk_exit(int status) { std::exit(status); }
