// PMIx as a client: identity, exchange of values, the launcher's end, abort.
//
// PMIx's library holds the process's state; this file is the only place that calls it. Its callbacks run on its own
// thread and may not call it back: they only raise flags.
//
// Invariants:
//   1. A process opens its connection to the PMIx server once, and closes it at its exit. A rank that closes it at the
//      end of a job ends every fence of the next job that another rank has already entered (PMIx counts it as a
//      participant that is lost), and PMIx cannot be opened a second time for an MPI.
//   2. A key carries the number of its job: PMIx 5 may answer with the older value of a key that was put twice.
// SPDX-License-Identifier: Apache-2.0
#include "launch/pmix_launch.hpp"
#include "base/mutex.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/log.hpp"
#include "base/units.hpp"
#include "launch/launcher_process.hpp"
#include "launch/node_launch.hpp"

namespace grapnel::launch {
namespace {

constexpr std::uint64_t kAnswer_ns = 5 * base::kSecond_ns;
constexpr int kFetch_s = 5;  // a value from another host

Status pmix_failure(const char* what, pmix_status_t code) {
  return Status(Code::system, fmt::format("{}: PMIx says {}", what, PMIx_Error_string(code)));
}

// One word of information for a PMIx call; PMIx copies what it keeps.
class Info {
 public:
  Info(const char* key, const void* data, pmix_data_type_t type) {
    PMIX_INFO_CONSTRUCT(&info_);
    PMIx_Info_load(&info_, key, data, type);
  }
  ~Info() { PMIX_INFO_DESTRUCT(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  pmix_info_t* get() { return &info_; }

 private:
  pmix_info_t info_{};
};

// What PMIx_Get gave; released at the end.
struct Value {
  pmix_value_t* value = nullptr;
  Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() {
    if (value != nullptr) PMIX_VALUE_RELEASE(value);
  }
};

Status no_server(pmix_status_t code) {
  const Status failure = pmix_failure("joining the job that the PMIX_ variables of the environment name", code);
  return Status(Code::unavailable, failure.message());
}

Result<int> job_size_of(const pmix_proc_t& me) {
  pmix_proc_t everybody;
  PMIX_LOAD_PROCID(&everybody, me.nspace, PMIX_RANK_WILDCARD);
  Value size;
  if (const auto code = PMIx_Get(&everybody, PMIX_JOB_SIZE, nullptr, 0, &size.value); code != PMIX_SUCCESS) {
    return pmix_failure("asking for the number of ranks", code);
  }
  pmix_status_t status = PMIX_SUCCESS;
  int ranks = 0;
  PMIX_VALUE_GET_NUMBER(status, size.value, ranks, int);
  if (status != PMIX_SUCCESS || ranks <= 0) return pmix_failure("reading the number of ranks", status);
  return ranks;
}

// What PMIx answers on its own thread. Shared: the caller may have stopped waiting.
class Answer {
 public:
  void give(pmix_status_t status) {
    const base::MutexLock lock(mutex_);
    status_ = status;
    given_ = true;
    here_.notify_all();
  }
  /// False when it did not come in time.
  bool wait() {
    const base::MutexLock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kAnswer_ns);
    while (!given_) {
      if (here_.wait_until(mutex_, end) == std::cv_status::timeout) return given_;
    }
    return true;
  }
  pmix_status_t status() const {
    const base::MutexLock lock(mutex_);
    return status_;
  }

 private:
  mutable base::Mutex mutex_;
  std::condition_variable_any here_;
  bool given_ GRAPNEL_GUARDED_BY(mutex_) = false;
  pmix_status_t status_ GRAPNEL_GUARDED_BY(mutex_) = PMIX_ERR_TIMEOUT;
};

using SharedAnswer = std::shared_ptr<Answer>;

void registered(pmix_status_t status, std::size_t, void* data) {
  const std::unique_ptr<SharedAnswer> answer(static_cast<SharedAnswer*>(data));
  (*answer)->give(status);
}

// The one connection of the process, for all jobs that it joins after one another.
class Session {
 public:
  /// Never destroyed: exit handlers of other libraries may still end a job.
  static Session& of_this_process() {
    static auto* const session = new Session;
    return *session;
  }

  Result<pmix_proc_t> open() {
    const base::MutexLock lock(mutex_);
    if (!open_) {
      if (const auto code = PMIx_Init(&me_, nullptr, 0); code != PMIX_SUCCESS) return no_server(code);
      open_ = true;
      owner_ = ::getpid();
      std::atexit([] { of_this_process().close(); });
    }
    return me_;
  }
  unsigned next_job() { return jobs_++; }
  /// Until the job has been left in order the end of the process is a death, also if its exit code is 0.
  void joined() { ++open_jobs_; }
  void left() { --open_jobs_; }

  /// From now on `liveness` is notified when the server's connection ends, until `ignore`.
  Status watch_server(Liveness& liveness) {
    GRAPNEL_TRY(register_once());
    const base::MutexLock lock(watchers_mutex_);
    watchers_.push_back(&liveness);
    if (lost_) liveness.launcher_is_gone();  // between two jobs
    return {};
  }
  void ignore(const Liveness& liveness) {
    const base::MutexLock lock(watchers_mutex_);
    watchers_.erase(std::remove(watchers_.begin(), watchers_.end(), &liveness), watchers_.end());
  }

 private:
  // Once for all jobs: each registration is a message to the server and back.
  Status register_once() {
    const base::MutexLock lock(mutex_);
    if (registered_) return {};
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
    const auto answer = std::make_shared<Answer>();
    PMIx_Register_event_handler(&lost, 1, nullptr, 0, server_lost, registered, new SharedAnswer(answer));
    if (!answer->wait() || answer->status() < 0) {
      return pmix_failure("asking to be told of the launcher's end", answer->status());
    }
    registered_ = true;
    return {};
  }

  // PMIx's thread, when the server's connection ends.
  static void server_lost(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], std::size_t, pmix_info_t[],
                          std::size_t, pmix_event_notification_cbfunc_fn_t done, void* done_data) {
    auto& session = of_this_process();
    {
      const base::MutexLock lock(session.watchers_mutex_);
      session.lost_ = true;
      for (Liveness* liveness : session.watchers_) liveness->launcher_is_gone();
    }
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
  }

  // A launcher that knows of an orderly end lets the ranks of other nodes wait for this one, so a rank that has not
  // left its job closes nothing. A child that was forked without exec is not the rank.
  void close() {
    if (::getpid() == owner_ && open_jobs_ == 0) PMIx_Finalize(nullptr, 0);
  }

  base::Mutex mutex_;
  bool open_ GRAPNEL_GUARDED_BY(mutex_) = false;
  bool registered_ GRAPNEL_GUARDED_BY(mutex_) = false;  ///< for the event of a lost server
  pmix_proc_t me_{};
  pid_t owner_ = 0;
  std::atomic<unsigned> jobs_{0};  ///< ranks join jobs in the same order, so the number keeps their keys apart
  std::atomic<int> open_jobs_{0};
  base::Mutex watchers_mutex_;
  std::vector<Liveness*> watchers_ GRAPNEL_GUARDED_BY(watchers_mutex_);  ///< those of the jobs that are joined
  bool lost_ GRAPNEL_GUARDED_BY(watchers_mutex_) = false;
};

class PmixLaunch final : public NodeLaunch {
 public:
  explicit PmixLaunch(os::Host& host) : NodeLaunch(host) {}

  ~PmixLaunch() override {
    stop_watching();
    if (joined_ && job_size_ == 1)
      leave();  // a job of several has lost a rank: the session stays open (Session::close)
  }

  Status start(const base::Config& config) {
    GRAPNEL_TRY(claim_identity());
    GRAPNEL_TRY(connect());
    GRAPNEL_TRY(meet(config, static_cast<Rank>(me_.rank), job_size_));
    GRAPNEL_TRY(
        watch([this](const std::string& why) { end_job(1, why, why); }, {launcher_process_.number(), {}, POLLIN}));
    Session::of_this_process().joined();
    joined_ = true;
    warn_of_a_late_mpi();
    return Session::of_this_process().watch_server(*liveness_);
  }

  std::string description() const override { return fmt::format("pmix ({})", launcher_); }

  Status publish(std::string_view key, ByteView value) override {
    pmix_value_t given{};
    given.type = PMIX_BYTE_OBJECT;
    given.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(value.data()));
    given.data.bo.size = value.size();
    if (const auto code = PMIx_Put(PMIX_GLOBAL, job_key(key).c_str(), &given); code != PMIX_SUCCESS) {
      return pmix_failure("publishing a value", code);
    }
    return {};
  }

  Status fence() override {
    if (const auto code = PMIx_Commit(); code != PMIX_SUCCESS) return death_or(pmix_failure("a fence", code));
    bool collect = true;
    Info directive(PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    pmix_proc_t everybody;
    PMIX_LOAD_PROCID(&everybody, me_.nspace, PMIX_RANK_WILDCARD);
    const auto code = PMIx_Fence(&everybody, 1, directive.get(), 1);
    return code == PMIX_SUCCESS ? Status() : death_or(pmix_failure("a fence", code));
  }

  // After a fence no value is on its way. PMIx 4 has all of them on every host by then. PMIx 5 has those of the host's
  // own ranks, and fetches others from their host, but not with PMIX_IMMEDIATE.
  Result<Bytes> lookup(Rank rank, std::string_view key) override {
    pmix_proc_t owner;
    PMIX_LOAD_PROCID(&owner, me_.nspace, static_cast<pmix_rank_t>(rank));
    const bool now = true;
    Info immediate(PMIX_IMMEDIATE, &now, PMIX_BOOL);
    Info limit(PMIX_TIMEOUT, &kFetch_s, PMIX_INT);
    Value got;
    const auto code =
        PMIx_Get(&owner, job_key(key).c_str(), (is_of_this_host(rank) ? immediate : limit).get(), 1, &got.value);
    const bool is_missing = code == PMIX_ERR_NOT_FOUND || code == PMIX_ERR_TIMEOUT || code == PMIX_ERROR;
    if (is_missing || (code == PMIX_SUCCESS && got.value->type != PMIX_BYTE_OBJECT)) {
      return Status(Code::invalid_argument,
                    fmt::format("rank {} has published nothing under \"{}\"", static_cast<int>(rank), key));
    }
    if (code != PMIX_SUCCESS) return death_or(pmix_failure("looking up a value", code));
    const auto* bytes = reinterpret_cast<const std::byte*>(got.value->data.bo.bytes);
    return Bytes(bytes, bytes + got.value->data.bo.size);
  }

  [[noreturn]] void abort(int exit_code, const std::string& why) override {
    end_job(exit_code, announce_abort() ? fmt::format("rank {}: {}", me_.rank, why) : std::string(), why);
  }

  Status finalize() override {
    if (!joined_) return {};
    liveness_->say_goodbye();
    // The watcher stays until all ranks are here: a death before that must still end the job.
    GRAPNEL_TRY(fence());
    stop_watching();
    claim_.release();
    leave();
    return {};
  }

 private:
  bool is_of_this_host(Rank rank) const {
    return std::find(local_ranks_.begin(), local_ranks_.end(), static_cast<int>(rank)) != local_ranks_.end();
  }

  Status connect() {
    auto& session = Session::of_this_process();
    GRAPNEL_ASSIGN_OR_RETURN(const auto me, session.open());
    me_ = me;
    job_ = session.next_job();
    GRAPNEL_ASSIGN_OR_RETURN(const auto size, job_size_of(me_));
    job_size_ = size;
    pmix_proc_t everybody;
    PMIX_LOAD_PROCID(&everybody, me_.nspace, PMIX_RANK_WILDCARD);
    launcher_ = launcher_name(everybody);
    local_ranks_ = ranks_of_this_host(everybody);
    return {};
  }

  // Open MPI 5.0 takes a PMIx that is open for opened by itself, and then asks it for a rank without a name.
  void warn_of_a_late_mpi() const {
    auto* const version = reinterpret_cast<int (*)(char*, int*)>(::dlsym(RTLD_DEFAULT, "MPI_Get_library_version"));
    auto* const initialized = reinterpret_cast<int (*)(int*)>(::dlsym(RTLD_DEFAULT, "MPI_Initialized"));
    char text[8192 + 1] = {};  // Open MPI's limit is 256, MPICH's 8192
    int length = 0;
    int started = 0;
    if (me_.rank != 0 || version == nullptr || initialized == nullptr) return;
    if (version(text, &length) != 0 || std::string_view(text).substr(0, 11) != "Open MPI v5") return;
    if (initialized(&started) != 0 || started != 0) return;
    base::log_warn(
        "this program is linked with Open MPI 5, whose MPI_Init fails (\"local rank … Not found\") once a job was "
        "joined "
        "over PMIx: call MPI_Init before the runtime starts, or not at all");
  }

  void leave() {
    Session::of_this_process().left();
    joined_ = false;
  }

  std::string job_key(std::string_view key) const { return fmt::format("g{}.{}", job_, key); }

  // Empty where the launcher does not say.
  static std::vector<int> ranks_of_this_host(const pmix_proc_t& everybody) {
    const bool optional = true;  // as for the launcher's name
    Info directive(PMIX_OPTIONAL, &optional, PMIX_BOOL);
    Value peers;
    std::vector<int> ranks;
    if (PMIx_Get(&everybody, PMIX_LOCAL_PEERS, directive.get(), 1, &peers.value) != PMIX_SUCCESS ||
        peers.value->type != PMIX_STRING || peers.value->data.string == nullptr) {
      return ranks;
    }
    for (const char* at = peers.value->data.string; at != nullptr; at = std::strchr(at, ',')) {
      if (*at == ',') ++at;
      ranks.push_back(std::atoi(at));
    }
    return ranks;
  }

  static std::string launcher_name(const pmix_proc_t& everybody) {
    bool optional = true;  // only what came with the job's description; no launcher is asked
    Info directive(PMIX_OPTIONAL, &optional, PMIX_BOOL);
    Value name;
    if (PMIx_Get(&everybody, PMIX_RM_NAME, directive.get(), 1, &name.value) == PMIX_SUCCESS &&
        name.value->type == PMIX_STRING && name.value->data.string != nullptr) {
      return name.value->data.string;
    }
    if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "mpirun";
    if (std::getenv("SLURM_STEP_ID") != nullptr) return "srun";
    return "unnamed launcher";
  }

  void stop_watching() {
    if (liveness_) Session::of_this_process().ignore(*liveness_);
    liveness_.reset();
  }

  /// Ends the job with `line` as its message, or silently where it is empty.
  [[noreturn]] void end_job(int exit_code, const std::string& line, const std::string& why) {
    if (line.empty()) ::_exit(exit_code);
    tell(line + "; the job ends");
    leave_after(exit_code, [&] { PMIx_Abort(exit_code, why.c_str(), nullptr, 0); });
  }

  pmix_proc_t me_{};
  int job_size_ = 0;
  std::string launcher_;
  std::vector<int> local_ranks_;  ///< the ranks of this host
  /// Beside PMIx's event of a lost server, which a library that is busy elsewhere raises late.
  const os::Descriptor launcher_process_ = open_launcher_process();
  unsigned job_ = 0;
  bool joined_ = false;  ///< and has not left it
};

}  // namespace

Result<int> pmix_job_size() {
  const auto me = Session::of_this_process().open();
  return me ? job_size_of(*me) : me.status();
}

Result<std::unique_ptr<Launch>> join_pmix(const base::Config& config, os::Host& host) {
  auto launch = std::make_unique<PmixLaunch>(host);
  if (Status status = launch->start(config); !status.ok()) return status;
  return std::unique_ptr<Launch>(std::move(launch));
}

}  // namespace grapnel::launch
