// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/job.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "api/mpi/calls.hpp"
#include "api/mpi/types.hpp"
#include "base/config.hpp"
#include "mpi/join.hpp"
#include "mpi/status.hpp"
#include "os/host.hpp"
#include "runtime/assembly.hpp"
#include "runtime/implementation.hpp"
#include "runtime/settings.hpp"
#include "window/settings.hpp"

namespace grapnel::front {

Job* the_job = nullptr;

Status host_barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  GRAPNEL_TRY(mpi::status_of(PMPI_Ibarrier(comm, &request)));
  return mpi::wait_for(the_job->waiting, request, 0);
}

namespace {

/// Ends the job in all ranks, after a line that names the failure.
[[noreturn]] void stop(const char* call, const Status& failure) {
  std::fprintf(stderr, "grapnel: %s: %s\n", call, failure.message().c_str());
  PMPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// A rank that has not loaded this library enters no collective of ours. Other ranks that begin late are waited for.
constexpr std::uint64_t kUsualStart_ns = 5 * base::kSecond_ns, kBetweenLooks_ns = 50 * base::kMicrosecond_ns;

void warn_of_missing_ranks(const char* call) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if ((rank & (rank - 1)) != 0) return;  // a few of many say it: rank 0 may be the one that is missing
  std::fprintf(
      stderr,
      "grapnel: warning: %s of rank %d has waited %d s for a rank that has not come; load libgrapnel-mpi.so in "
      "all ranks of the job, or in none\n",
      call, rank, static_cast<int>(kUsualStart_ns / base::kSecond_ns));
}

/// The least of each number over all ranks. A wait that is unusually long is reported.
void least_of_all(const char* call, const int (&mine)[2], int (&all)[2]) {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Iallreduce(mine, all, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
  const auto host = os::make_real_host();
  std::uint64_t warns_ns = host->now_ns() + kUsualStart_ns;
  os::Word never_woken{0};
  for (int done = 0; PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0;) {
    host->wait(never_woken, 0, kBetweenLooks_ns);
    if (host->now_ns() < warns_ns) continue;
    warn_of_missing_ranks(call);
    warns_ns = UINT64_MAX;
  }
}

/// Ends the program in all ranks where one cannot read its settings: no rank then waits for another in the start.
/// `enabled`: in all ranks.
void agree_on_settings(const char* call, bool& enabled) {
  const auto config = base::Config::from_environment(runtime::settings_groups());
  int mine[2] = {config.ok() ? 1 : 0, config.ok() && config->get<window::Settings>().enabled ? 1 : 0};
  int all[2] = {};
  least_of_all(call, mine, all);
  if (!config.ok()) stop(call, config.status());
  if (all[0] == 0) stop(call, Status(Code::invalid_argument, "another rank's settings cannot be used"));
  enabled = all[1] != 0;
}

Status open_host_side(Job& job) {
  GRAPNEL_TRY(mpi::status_of(PMPI_Comm_dup(MPI_COMM_WORLD, &job.quiet)));
  PMPI_Comm_set_errhandler(job.quiet, MPI_ERRORS_RETURN);
  GRAPNEL_TRY(mpi::status_of(PMPI_Comm_dup(MPI_COMM_SELF, &job.self)));
  PMPI_Comm_set_errhandler(job.self, MPI_ERRORS_RETURN);
  PMPI_Comm_group(MPI_COMM_WORLD, &job.world);
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  job.many_threads = level == MPI_THREAD_MULTIPLE;
  if (job.many_threads) {
    GRAPNEL_ASSIGN_OR_RETURN(job.creation_lock, job.runtime->create_lock_set(1));
  }
  MPI_Win carrier = MPI_WIN_NULL;
  if (const int code = make_carrier(job.self, &carrier); code != MPI_SUCCESS) {
    return mpi::failure("the host makes no window of one process", code);
  }
  host().Win_free(&carrier);
  open_types();
  return {};
}

void close_host_side(Job& job) {
  if (job.self != MPI_COMM_NULL) PMPI_Comm_free(&job.self);
  if (job.quiet != MPI_COMM_NULL) PMPI_Comm_free(&job.quiet);
  if (job.world != MPI_GROUP_NULL) PMPI_Group_free(&job.world);
}

Result<std::unique_ptr<Job>> build_job() {
  GRAPNEL_TRY(mpi::check_mpi());
  GRAPNEL_ASSIGN_OR_RETURN(auto foundation, runtime::real_foundation([](const base::Config& config, os::Host& host) {
                             return mpi::join(MPI_COMM_WORLD, config, host);
                           }));
  GRAPNEL_ASSIGN_OR_RETURN(auto implementation, Runtime::Implementation::build(std::move(foundation)));
  auto job = std::make_unique<Job>();
  job->windows = &implementation->core->service<window::Windows>();
  job->waiting = &implementation->core->waiting;
  job->prints_statistics = implementation->config.get<runtime::Settings>().stats;
  job->runtime = std::make_unique<Runtime>(std::move(implementation));
  return job;
}

/// Collective. The core ends with a barrier of its own, in which MPI makes no progress: so all ranks enter the host's
/// barrier first.
void end_job() {
  Job* const job = the_job;
  if (job->prints_statistics) job->statistics.print(MPI_COMM_WORLD);
  if (const Status met = host_barrier(MPI_COMM_WORLD); met.code() == Code::peer_dead) stop("MPI_Finalize", met);
  the_job = nullptr;
  const std::unique_ptr<Job> ended(job);
  if (const Status finished = job->runtime->finish(); finished.code() == Code::peer_dead)
    stop("MPI_Finalize", finished);
  close_host_side(*job);
}

int on_mpi_ends(MPI_Comm, int, void*, void*) {
  if (the_job != nullptr) end_job();
  return MPI_SUCCESS;
}

void watch_mpi() {
  int keyval = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_mpi_ends, &keyval, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
}

/// Whether all ranks can take windows: otherwise none may.
bool all_have(const Status& mine) {
  int good = mine.ok() ? 1 : 0, all_good = 0;
  PMPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all_good != 0;
}

/// `mine` is ok where only another rank failed.
void warn(const Status& mine) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  const std::string reason = mine.ok() ? "the start failed in another rank" : mine.message();
  std::fprintf(stderr, "grapnel: warning: all windows stay the host MPI's: %s\n", reason.c_str());
}

void start_job(const char* call) {
  bool enabled = false;
  agree_on_settings(call, enabled);
  if (!enabled) return;
  auto job = build_job();
  if (!job.ok()) return warn(job.status());
  const Status opened = open_host_side(**job);
  if (!all_have(opened)) {
    warn(opened);
    static_cast<void>((*job)->runtime->finish());  // the warning has the reason
    return close_host_side(**job);
  }
  watch_mpi();
  the_job = job->release();
}

}  // namespace

// The host at the level that the program asks for: only calling threads enter MPI, and Open MPI takes 110 ns longer for
// a message of 8 bytes at MPI_THREAD_FUNNELED than at MPI_THREAD_SINGLE.
int Init_thread(const Calls& next, int* argc, char*** argv, int required, int* provided) {
  const int code = next.Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) start_job("MPI_Init_thread");
  return code;
}

int Init(const Calls& next, int* argc, char*** argv) {
  const int code = next.Init(argc, argv);
  if (code == MPI_SUCCESS) start_job("MPI_Init");
  return code;
}

}  // namespace grapnel::front
