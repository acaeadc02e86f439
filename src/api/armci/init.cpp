// Starting and ending: MPI where the program has not started it, the core over a communicator, and the end of both.
//
// The end is the last ARMCI_Finalize, or, where the program forgot it, by MPI_Finalize: MPI deletes the
// attributes of MPI_COMM_SELF first of all, while its calls still work, and the deletion of ours ends the job's part
// here and frees the communicator that the program named.
//
// Threads: no other call of the front end may overlap these.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/rank_waits.hpp"
#include "base/log.hpp"
#include "mpi/join.hpp"
#include "mpi/spinning.hpp"
#include "mpi/status.hpp"
#include "rma/service.hpp"
#include "runtime/assembly.hpp"
#include "runtime/implementation.hpp"

namespace grapnel::armci {

Job* the_job = nullptr;

namespace {

/// What outlives a job. A failed ARMCI_Init may leave MPI running: a later one, or ARMCI_Finalize, takes it over.
struct LifeCycle {
  MPI_Comm named_comm = MPI_COMM_NULL;  ///< our duplicate of what armci_msg_init_comm was given last
  bool mpi_is_ours = false;             ///< an ARMCI_Init started MPI, so an ARMCI_Finalize ends it
  bool watches_mpi = false;             ///< `on_mpi_ends` will be called
};
LifeCycle life_cycle;

bool mpi_started() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized != 0;
}

bool mpi_ended() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

/// Only the calling thread enters MPI, so FUNNELED does, beside what the program asks for.
Status start_mpi(int* argc, char*** argv, int level) {
  int provided = MPI_THREAD_SINGLE;
  const int wanted = std::max(level, static_cast<int>(MPI_THREAD_FUNNELED));
  if (const int code = MPI_Init_thread(argc, argv, wanted, &provided); code != MPI_SUCCESS) {
    return {Code::system, fmt::format("MPI_Init_thread failed with code {}", code)};
  }
  if (provided < wanted) {
    return {Code::unavailable, fmt::format("MPI gives thread level {}; {} is needed", provided, wanted)};
  }
  return {};
}

/// Settings that one rank cannot read are an error in all, before anybody waits for anybody.
Status agree_on_settings(MPI_Comm comm) {
  const auto config = base::Config::from_environment(runtime::settings_groups());
  int good = config.ok() ? 1 : 0, all_good = 0;
  GRAPNEL_TRY(mpi::status_of(MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, comm)));
  if (!config) return config.status();
  return all_good != 0 ? Status() : Status(Code::invalid_argument, "another rank's settings cannot be used");
}

int end_job();

int on_mpi_ends(MPI_Comm, int, void*, void*) {
  if (the_job != nullptr) end_job();
  free_comm(life_cycle.named_comm);
  return MPI_SUCCESS;
}

void watch_mpi() {
  if (std::exchange(life_cycle.watches_mpi, true)) return;
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_mpi_ends, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
}

/// Once per job, of rank 0's machine: the others have the same trouble, as a rule.
void warn_of_spinning(const core::Core& core) {
  if (index(core.launch.rank()) != 0) return;
  const std::size_t ranks = core.launch.nodes().ranks_on_machine_of(core.launch.node());
  const std::string warning = mpi::warning_of_spinning(ranks, core.host.processors());
  if (!warning.empty()) base::log_warn("{}", warning);
}

Result<std::unique_ptr<Job>> build_job(MPI_Comm comm) {
  GRAPNEL_TRY(mpi::check_mpi());
  GRAPNEL_TRY(agree_on_settings(comm));
  GRAPNEL_ASSIGN_OR_RETURN(auto foundation,
                           runtime::real_foundation([comm](const base::Config& config, os::Host& host) {
                             return mpi::join(comm, config, host);
                           }));
  GRAPNEL_ASSIGN_OR_RETURN(auto implementation, Runtime::Implementation::build(std::move(foundation)));
  const core::Core& core = *implementation->core;
  auto job = std::make_unique<Job>();
  job->rma = &core.service<rma::RmaService>().rma();
  job->lock_sets = &core.service<locks::Locks>();
  job->barriers = &core.service<sync::Barriers>();
  job->collectives = &core.service<collective::Collectives>();
  job->notifications = &core.service<sync::Notifications>();
  job->waiting = &core.waiting;
  job->runtime = std::make_unique<Runtime>(std::move(implementation));
  job->me = static_cast<int>(index(job->runtime->rank()));
  job->ranks = job->runtime->size();
  job->notified = std::vector<std::atomic<std::uint32_t>>(static_cast<std::size_t>(job->ranks));
  job->awaited = std::vector<std::atomic<std::uint32_t>>(static_cast<std::size_t>(job->ranks));
  GRAPNEL_TRY(job->groups.open(*job->runtime, comm));
  warn_of_spinning(core);
  return job;
}

/// What an ARMCI_Init… was given.
struct Start {
  const char* call;
  int level = MPI_THREAD_SINGLE;
  std::optional<MPI_Comm> comm = {};  ///< none: `initial_comm()`
  int* argc = nullptr;
  char*** argv = nullptr;
};

/// What no MPI and no job would take.
Status check_arguments(const Start& start) {
  if (start.level < MPI_THREAD_SINGLE || start.level > MPI_THREAD_MULTIPLE) {
    return {Code::invalid_argument, fmt::format("required is {}, which is none of MPI's thread levels", start.level)};
  }
  if (start.comm == MPI_COMM_NULL) return {Code::invalid_argument, "comm is MPI_COMM_NULL"};
  return {};
}

/// No call can raise the level of an MPI that runs.
Status check_level(int required) {
  int given = MPI_THREAD_SINGLE;
  MPI_Query_thread(&given);
  if (required <= given) return {};
  return {Code::unavailable, fmt::format("required is thread level {}; MPI runs with {}", required, given)};
}

/// The world of a running job stays what it is.
Status check_world(const Job& job, const std::optional<MPI_Comm>& comm) {
  if (!comm) return {};
  int likeness = MPI_UNEQUAL;
  MPI_Comm_compare(*comm, job.groups.world_comm(), &likeness);
  if (likeness == MPI_IDENT || likeness == MPI_CONGRUENT) return {};
  return {Code::invalid_argument, "ARMCI runs already, over other ranks than those of comm or in another order"};
}

Status begin(const Start& start) {
  GRAPNEL_TRY(check_arguments(start));
  if (mpi_ended()) return {Code::unavailable, "MPI has ended; it cannot start a second time"};
  if (!mpi_started()) {
    Status started = start_mpi(start.argc, start.argv, start.level);
    life_cycle.mpi_is_ours = mpi_started();
    if (!started.ok()) return started;
  }
  GRAPNEL_TRY(check_level(start.level));
  if (the_job != nullptr) {
    GRAPNEL_TRY(check_world(*the_job, start.comm));
    ++the_job->starts;
    return {};
  }
  GRAPNEL_ASSIGN_OR_RETURN(auto job, build_job(start.comm.value_or(initial_comm())));
  watch_mpi();
  the_job = job.release();
  return {};
}

int run(const Start& start) {
  const Status begun = begin(start);
  return begun.ok() ? 0 : report(start.call, begun);
}

/// Collective. The job is gone afterwards, whatever it answers. A death stops the program, as in a barrier: a rank in
/// MPI_Finalize would wait there for the dead, and the job is no longer watched.
int end_job() {
  // The core ends with a barrier of its own, in which MPI would make no progress; after this one no rank is late for
  // it.
  const Status arrived = run_barrier("ARMCI_Finalize", *the_job, the_job->groups.world().core);
  if (arrived.code() == Code::peer_dead) stop("ARMCI_Finalize", arrived);
  const std::unique_ptr<Job> job(std::exchange(the_job, nullptr));
  const Status finished = job->runtime->finish();
  if (finished.code() == Code::peer_dead) stop("ARMCI_Finalize", finished);
  job->runtime.reset();
  job->groups.clear();
  const Status& all = finished.ok() ? arrived : finished;
  return all.ok() ? 0 : report("ARMCI_Finalize", all);
}

void end_own_mpi() {
  if (life_cycle.mpi_is_ours && !mpi_ended()) MPI_Finalize();
}

}  // namespace

MPI_Comm initial_comm() { return life_cycle.named_comm != MPI_COMM_NULL ? life_cycle.named_comm : MPI_COMM_WORLD; }

}  // namespace grapnel::armci

using namespace grapnel::armci;

ARMCI_DEFINE(int, Init, (void)) { return run({.call = "ARMCI_Init"}); }

ARMCI_DEFINE(int, Init_args, (int* argc, char*** argv)) {
  return run({.call = "ARMCI_Init_args", .argc = argc, .argv = argv});
}

ARMCI_DEFINE(int, Init_mpi_comm, (MPI_Comm comm)) { return run({.call = "ARMCI_Init_mpi_comm", .comm = comm}); }

ARMCI_DEFINE(int, Init_thread, (int required)) { return run({.call = "ARMCI_Init_thread", .level = required}); }

ARMCI_DEFINE(int, Init_thread_comm, (int required, MPI_Comm comm)) {
  return run({.call = "ARMCI_Init_thread_comm", .level = required, .comm = comm});
}

ARMCI_DEFINE(int, Initialized, (void)) { return the_job != nullptr ? 1 : 0; }

// A second ARMCI_Finalize, or one after MPI_Finalize ended the job, finds nothing to do; one after an ARMCI_Init that
// failed ends the MPI that it started.
ARMCI_DEFINE(int, Finalize, (void)) {
  if (the_job != nullptr && --the_job->starts > 0) return 0;
  const int result = the_job != nullptr ? end_job() : 0;
  end_own_mpi();
  return result;
}

ARMCI_DEFINE_LOWER(void, msg_init, (int* argc, char*** argv)) {
  if (mpi_started()) return;
  const grapnel::Status started = start_mpi(argc, argv, MPI_THREAD_SINGLE);
  if (!started.ok()) stop("armci_msg_init", started);
}

// A duplicate: the program may free its own before ARMCI_Init. A program with a communicator has started MPI.
ARMCI_DEFINE_LOWER(void, msg_init_comm, (MPI_Comm comm)) {
  if (comm == MPI_COMM_NULL) {
    stop("armci_msg_init_comm", grapnel::Status(grapnel::Code::invalid_argument, "comm is MPI_COMM_NULL"));
  }
  free_comm(life_cycle.named_comm);
  const auto own = duplicate(comm);
  if (!own.ok()) stop("armci_msg_init_comm", own.status());
  life_cycle.named_comm = *own;
  watch_mpi();
}

ARMCI_DEFINE_LOWER(void, msg_finalize, (void)) {
  if (mpi_started() && !mpi_ended()) MPI_Finalize();
}
