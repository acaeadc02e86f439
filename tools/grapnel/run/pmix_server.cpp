#include "run/pmix_server.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <pmix_server.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "os/descriptor.hpp"

namespace grapnel::tool {

struct PmixServerState {
  explicit PmixServerState(int ranks) : in_job(static_cast<std::size_t>(ranks)), joined(in_job.size()) {}

  std::string job_name;
  std::vector<std::atomic<bool>> in_job, joined;  ///< now; ever
  os::Descriptor abort_event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  std::optional<PmixServer::AbortRequest> abort;  ///< under `mutex`; the first one stays
};

namespace {

Status pmix_failure(const char* what, pmix_status_t code) {
  return Status(Code::system, fmt::format("the PMIx server: {}: {}", what, PMIx_Error_string(code)));
}

// Waits for the library's answer to one request.
class Reply {
 public:
  static void give(pmix_status_t status, void* reply) {
    auto* self = static_cast<Reply*>(reply);
    const std::scoped_lock lock(self->mutex_);
    self->status_ = status;
    self->given_ = true;
    self->here_.notify_all();
  }
  /// `started`: what the call itself returned.
  pmix_status_t wait(pmix_status_t started) {
    if (started == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    if (started != PMIX_SUCCESS) return started;
    std::unique_lock lock(mutex_);
    here_.wait(lock, [this] { return given_; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable here_;
  bool given_ = false;
  pmix_status_t status_ = PMIX_SUCCESS;
};

// An array of key and value pairs in the library's own memory.
class InfoArray {
 public:
  explicit InfoArray(std::size_t count) : count_(count) { PMIX_INFO_CREATE(infos_, count); }
  ~InfoArray() { PMIX_INFO_FREE(infos_, count_); }
  InfoArray(const InfoArray&) = delete;
  InfoArray& operator=(const InfoArray&) = delete;

  InfoArray& add(const char* key, const void* data, pmix_data_type_t type) {
    PMIx_Info_load(&infos_[used_++], key, data, type);
    return *this;
  }
  InfoArray& add(const char* key, std::uint32_t number) { return add(key, &number, PMIX_UINT32); }
  InfoArray& add(const char* key, const std::string& text) { return add(key, text.c_str(), PMIX_STRING); }
  /// Moves `array` into one value of this one.
  InfoArray& add(const char* key, const InfoArray& array) {
    pmix_data_array_t data{};
    data.type = PMIX_INFO;
    data.size = array.used_;
    data.array = array.infos_;
    return add(key, &data, PMIX_DATA_ARRAY);  // copies deeply
  }
  pmix_info_t* get() { return infos_; }
  std::size_t size() const { return used_; }

 private:
  pmix_info_t* infos_ = nullptr;
  std::size_t count_;
  std::size_t used_ = 0;
};

// ---- what the library calls, on its own thread

PmixServerState* the_server = nullptr;  // set once, before the library starts

pmix_status_t client_connected(const pmix_proc_t* client, void*, pmix_info_t[], std::size_t, pmix_op_cbfunc_t, void*) {
  if (client->rank < the_server->in_job.size()) {
    the_server->joined[client->rank] = true;
    the_server->in_job[client->rank] = true;
  }
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_finalized(const pmix_proc_t* client, void*, pmix_op_cbfunc_t, void*) {
  if (client->rank < the_server->in_job.size()) the_server->in_job[client->rank] = false;
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t abort_job(const pmix_proc_t* client, void*, int status, const char* message, pmix_proc_t[], std::size_t,
                        pmix_op_cbfunc_t, void*) {
  {
    const std::scoped_lock lock(the_server->mutex);
    if (!the_server->abort) {
      the_server->abort = {static_cast<int>(client->rank), status, message != nullptr ? message : ""};
    }
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(the_server->abort_event.number(), &one, sizeof one);
  return PMIX_OPERATION_SUCCEEDED;
}

void free_data(void* data) { std::free(data); }

// All ranks are clients of this server: what they gave is what everybody gets.
pmix_status_t fence(const pmix_proc_t[], std::size_t, const pmix_info_t info[], std::size_t info_count, char* data,
                    std::size_t bytes, pmix_modex_cbfunc_t done, void* done_data) {
  pmix_status_t status = PMIX_SUCCESS;
  for (std::size_t i = 0; i < info_count; ++i) {
    // The library puts here that a rank died on the way.
    if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS)) status = info[i].value.data.status;
  }
  if (done != nullptr) done(status, data, bytes, done_data, free_data, data);
  return PMIX_SUCCESS;
}

// Nothing is anywhere else, so what the library does not have does not exist.
pmix_status_t direct_modex(const pmix_proc_t*, const pmix_info_t[], std::size_t, pmix_modex_cbfunc_t, void*) {
  return PMIX_ERR_NOT_FOUND;
}

pmix_status_t register_events(pmix_status_t*, std::size_t, const pmix_info_t[], std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t deregister_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t callbacks() {
  pmix_server_module_t module{};
  module.client_connected2 = client_connected;
  module.client_finalized = client_finalized;
  module.abort = abort_job;
  module.fence_nb = fence;
  module.direct_modex = direct_modex;
  module.register_events = register_events;
  module.deregister_events = deregister_events;
  return module;
}

// ---- the job's description

// The launcher may itself run inside a job of another launcher: none of that one's variables may reach ours.
void forget_outer_job() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const bool tuning = text.substr(0, 9) == "PMIX_MCA_";
    if ((text.substr(0, 5) == "PMIX_" && !tuning) || text.substr(0, 4) == "PMI_") {
      names.emplace_back(text.substr(0, text.find('=')));
    }
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

std::string comma_list(int ranks) {
  std::string list;
  for (int rank = 0; rank < ranks; ++rank) list += fmt::format("{}{}", rank == 0 ? "" : ",", rank);
  return list;
}

void describe_rank(InfoArray& job, int rank, const std::string& host_name) {
  const auto global_rank = static_cast<pmix_rank_t>(rank);
  const auto local_rank = static_cast<std::uint16_t>(rank);
  InfoArray about(6);
  about.add(PMIX_RANK, &global_rank, PMIX_PROC_RANK)
      .add(PMIX_GLOBAL_RANK, &global_rank, PMIX_PROC_RANK)
      .add(PMIX_LOCAL_RANK, &local_rank, PMIX_UINT16)
      .add(PMIX_NODE_RANK, &local_rank, PMIX_UINT16)
      .add(PMIX_NODEID, 0)
      .add(PMIX_HOSTNAME, host_name);
  job.add(PMIX_PROC_INFO_ARRAY, about);
}

Status register_job(const std::string& job_name, int ranks) {
  char host_name[256] = {};
  ::gethostname(host_name, sizeof host_name - 1);
  char* node_map = nullptr;
  char* rank_map = nullptr;
  const std::string list = comma_list(ranks);
  PMIx_generate_regex(host_name, &node_map);
  PMIx_generate_ppn(list.c_str(), &rank_map);
  const auto count = static_cast<std::uint32_t>(ranks);
  InfoArray info(static_cast<std::size_t>(ranks) + 11);
  info.add(PMIX_JOB_SIZE, count)
      .add(PMIX_UNIV_SIZE, count)
      .add(PMIX_MAX_PROCS, count)
      .add(PMIX_LOCAL_SIZE, count)
      .add(PMIX_NODE_SIZE, count)
      .add(PMIX_NUM_NODES, 1)
      .add(PMIX_JOB_NUM_APPS, 1)
      .add(PMIX_LOCAL_PEERS, list)
      .add(PMIX_RM_NAME, std::string("grapnel run"))
      .add(PMIX_NODE_MAP, node_map, PMIX_REGEX)
      .add(PMIX_PROC_MAP, rank_map, PMIX_REGEX);
  for (int rank = 0; rank < ranks; ++rank) describe_rank(info, rank, host_name);
  std::free(node_map);
  std::free(rank_map);
  Reply reply;
  const auto code =
      reply.wait(PMIx_server_register_nspace(job_name.c_str(), ranks, info.get(), info.size(), Reply::give, &reply));
  return code == PMIX_SUCCESS ? Status() : pmix_failure("describing the job", code);
}

}  // namespace

Result<std::unique_ptr<PmixServer>> PmixServer::start(int ranks, const std::string& session_directory) {
  auto state = std::make_unique<PmixServerState>(ranks);
  if (!state->abort_event.valid()) return Status(Code::system, "creating an eventfd failed");
  state->job_name = fmt::format("grapnel-run-{}", ::getpid());
  the_server = state.get();
  forget_outer_job();
  // The store that keeps values in the processes' own memory: the other one makes files.
  ::setenv("PMIX_MCA_gds", "hash", 1);
  static pmix_server_module_t module = callbacks();
  InfoArray info(4);
  const auto rank = pmix_rank_t{0};
  info.add(PMIX_SERVER_TMPDIR, session_directory)
      .add(PMIX_SYSTEM_TMPDIR, session_directory)
      .add(PMIX_SERVER_NSPACE, state->job_name + "-server")
      .add(PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
  if (const auto code = PMIx_server_init(&module, info.get(), info.size()); code != PMIX_SUCCESS) {
    return Status(Code::unavailable,
                  fmt::format("the PMIx server cannot start ({}): it needs a loopback interface that is "
                              "up (ip link set lo up) and free descriptors (ulimit -n)",
                              PMIx_Error_string(code)));
  }
  GRAPNEL_TRY(register_job(state->job_name, ranks));
  return std::unique_ptr<PmixServer>(new PmixServer(std::move(state)));
}

PmixServer::PmixServer(std::unique_ptr<PmixServerState> state) : state_(std::move(state)) {}

// The library's thread goes on until the process ends and may still look at the state.
PmixServer::~PmixServer() { static_cast<void>(state_.release()); }

Result<std::vector<std::string>> PmixServer::environment_of(int rank) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, state_->job_name.c_str(), static_cast<pmix_rank_t>(rank));
  Reply reply;
  auto code = reply.wait(PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, Reply::give, &reply));
  if (code != PMIX_SUCCESS) return pmix_failure("registering a rank", code);
  char** variables = nullptr;
  code = PMIx_server_setup_fork(&proc, &variables);
  if (code != PMIX_SUCCESS) return pmix_failure("preparing a rank's environment", code);
  std::vector<std::string> result;
  for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
    result.emplace_back(*variable);
    std::free(*variable);
  }
  std::free(variables);
  return result;
}

int PmixServer::abort_event() const { return state_->abort_event.number(); }

std::optional<PmixServer::AbortRequest> PmixServer::take_abort() {
  std::uint64_t count = 0;
  if (::read(state_->abort_event.number(), &count, sizeof count) != sizeof count) return std::nullopt;
  const std::scoped_lock lock(state_->mutex);
  return state_->abort;
}

bool PmixServer::is_in_job(int rank) const { return state_->in_job[static_cast<std::size_t>(rank)]; }

bool PmixServer::has_joined(int rank) const { return state_->joined[static_cast<std::size_t>(rank)]; }

bool PmixServer::anybody_in_job() const {
  return std::any_of(state_->in_job.begin(), state_->in_job.end(), [](const auto& one) { return one.load(); });
}

}  // namespace grapnel::tool
