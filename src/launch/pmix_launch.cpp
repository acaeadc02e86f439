// PMIx as a client: identity, exchange of values, the launcher's end, abort.
//
// PMIx's library holds the process's state; this file is the only place that talks to it. Its callbacks run on its own
// thread and may not call it back: they only raise flags. The handler of a lost server gets its Liveness as PMIx's
// "return object", so that no global is needed here.
#include "launch/pmix_launch.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/units.hpp"
#include "launch/node_launch.hpp"

namespace grapnel::launch {
namespace {

constexpr std::uint64_t kAnswer_ns = 5 * base::kSecond_ns;

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

// PMIx's thread, when the server's connection ends.
void server_lost(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t info[], std::size_t info_count,
                 pmix_info_t[], std::size_t, pmix_event_notification_cbfunc_fn_t done, void* done_data) {
  for (std::size_t i = 0; i < info_count; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_RETURN_OBJECT)) {
      static_cast<Liveness*>(info[i].value.data.ptr)->launcher_is_gone();
    }
  }
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
}

// What PMIx answers on its own thread. Shared: the one who asked may have stopped waiting.
class Answer {
 public:
  void give(pmix_status_t status, std::size_t handler) {
    const std::scoped_lock lock(mutex_);
    status_ = status;
    handler_ = handler;
    given_ = true;
    here_.notify_all();
  }
  /// False when it did not come in time.
  bool wait() {
    std::unique_lock lock(mutex_);
    return here_.wait_for(lock, std::chrono::nanoseconds(kAnswer_ns), [this] { return given_; });
  }
  pmix_status_t status() const { return status_; }
  std::size_t handler() const { return handler_; }

 private:
  std::mutex mutex_;
  std::condition_variable here_;
  bool given_ = false;
  pmix_status_t status_ = PMIX_ERR_TIMEOUT;
  std::size_t handler_ = 0;
};

using SharedAnswer = std::shared_ptr<Answer>;

void registered(pmix_status_t status, std::size_t handler, void* data) {
  const std::unique_ptr<SharedAnswer> answer(static_cast<SharedAnswer*>(data));
  (*answer)->give(status, handler);
}

void deregistered(pmix_status_t status, void* data) { registered(status, 0, data); }

class PmixLaunch final : public NodeLaunch {
 public:
  explicit PmixLaunch(os::Host& host) : NodeLaunch(host) {}

  ~PmixLaunch() override {
    stop_watching();
    // Who goes without `finalize` has died for the others. Told that it left in order, the launcher would let those of
    // other nodes wait for it for ever.
    if (initialized_ && !(joined_ && job_size_ > 1)) PMIx_Finalize(nullptr, 0);
  }

  Status start(const base::Config& config) {
    GRAPNEL_TRY(claim_identity());
    GRAPNEL_TRY(connect());
    GRAPNEL_TRY(meet(config, static_cast<Rank>(me_.rank), job_size_));
    GRAPNEL_TRY(watch([this](const std::string& why) { end_job(1, why, why); }));
    joined_ = true;
    return hear_of_the_servers_end();
  }

  std::string description() const override { return fmt::format("pmix ({})", launcher_); }

  Status publish(std::string_view key, ByteView value) override {
    pmix_value_t given{};
    given.type = PMIX_BYTE_OBJECT;
    given.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(value.data()));
    given.data.bo.size = value.size();
    if (const auto code = PMIx_Put(PMIX_GLOBAL, std::string(key).c_str(), &given); code != PMIX_SUCCESS) {
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

  Result<Bytes> lookup(Rank rank, std::string_view key) override {
    pmix_proc_t owner;
    PMIX_LOAD_PROCID(&owner, me_.nspace, static_cast<pmix_rank_t>(rank));
    bool now = true;  // an answer at once: after a fence nothing is still on its way
    Info directive(PMIX_IMMEDIATE, &now, PMIX_BOOL);
    Value got;
    const auto code = PMIx_Get(&owner, std::string(key).c_str(), directive.get(), 1, &got.value);
    if (code == PMIX_ERR_NOT_FOUND || (code == PMIX_SUCCESS && got.value->type != PMIX_BYTE_OBJECT)) {
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
    if (!initialized_) return {};
    liveness_->say_goodbye();
    // The watcher stays until everybody is here: a death before that must still end the job.
    GRAPNEL_TRY(fence());
    stop_watching();
    initialized_ = false;
    claim_.release();
    const auto code = PMIx_Finalize(nullptr, 0);
    return code == PMIX_SUCCESS ? Status() : pmix_failure("leaving the job", code);
  }

 private:
  Status connect() {
    if (const auto code = PMIx_Init(&me_, nullptr, 0); code != PMIX_SUCCESS) return no_server(code);
    initialized_ = true;
    const auto size = job_size_of(me_);
    if (!size) return size.status();
    job_size_ = *size;
    pmix_proc_t everybody;
    PMIX_LOAD_PROCID(&everybody, me_.nspace, PMIX_RANK_WILDCARD);
    launcher_ = launcher_name(everybody);
    return {};
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

  Status hear_of_the_servers_end() {
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
    Info object(PMIX_EVENT_RETURN_OBJECT, liveness_.get(), PMIX_POINTER);
    const auto answer = std::make_shared<Answer>();
    PMIx_Register_event_handler(&lost, 1, object.get(), 1, server_lost, registered, new SharedAnswer(answer));
    if (!answer->wait() || answer->status() < 0) {
      return pmix_failure("asking to be told of the launcher's end", answer->status());
    }
    handler_ = answer->handler();
    handler_registered_ = true;
    return {};
  }

  void stop_watching() {
    if (handler_registered_) {
      const auto answer = std::make_shared<Answer>();
      PMIx_Deregister_event_handler(handler_, deregistered, new SharedAnswer(answer));
      answer->wait();  // not for ever: a server that is gone never answers, and then the process is about to end anyway
      handler_registered_ = false;
    }
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
  bool initialized_ = false;
  bool joined_ = false;  ///< what `start` does has been done
  std::size_t handler_ = 0;
  bool handler_registered_ = false;
};

}  // namespace

Result<int> pmix_job_size() {
  pmix_proc_t me{};
  if (const auto code = PMIx_Init(&me, nullptr, 0); code != PMIX_SUCCESS) return no_server(code);
  auto size = job_size_of(me);
  PMIx_Finalize(nullptr, 0);
  return size;
}

Result<std::unique_ptr<Launch>> join_pmix(const base::Config& config, os::Host& host) {
  auto launch = std::make_unique<PmixLaunch>(host);
  if (Status status = launch->start(config); !status.ok()) return status;
  return std::unique_ptr<Launch>(std::move(launch));
}

}  // namespace grapnel::launch
