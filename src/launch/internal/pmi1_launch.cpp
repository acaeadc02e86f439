// SPDX-License-Identifier: Apache-2.0
#include "launch/internal/pmi1_launch.hpp"
#include "base/mutex.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "launch/internal/pmi1_client.hpp"
#include "launch/kept_open.hpp"
#include "launch/launcher_signs.hpp"
#include "launch/node_launch.hpp"

namespace grapnel::launch {
namespace {

template <typename Function>
Function* function_named(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

// Whether an MPI that uses PMI-1 itself has been started here: then `finalize` is its to send. Asked of the process's
// symbols, as the core is built without any MPI. Open MPI has no PMI-1 and leaves the connection to us.
bool mpi_took_over() {
  auto* const initialized = function_named<int(int*)>("MPI_Initialized");
  int flag = 0;
  if (initialized == nullptr || initialized(&flag) != 0 || flag == 0) return false;
  auto* const version = function_named<int(char*, int*)>("MPI_Get_library_version");
  char text[8192 + 1] = {};  // Open MPI's limit is 256, MPICH's 8192
  int length = 0;
  if (version == nullptr || version(text, &length) != 0) return true;
  return std::string_view(text, static_cast<std::size_t>(length)).substr(0, 8) != "Open MPI";
}

// The one connection of the process, for all jobs that it joins after one another.
class ProcessConnection {
 public:
  /// Never destroyed: exit handlers of other libraries may still end a job.
  static ProcessConnection& of_this_process() {
    static auto* const connection = new ProcessConnection;
    return *connection;
  }

  Result<Pmi1Client*> client(int descriptor) {
    const base::MutexLock lock(mutex_);
    if (!client_) {
      GRAPNEL_ASSIGN_OR_RETURN(auto connected, Pmi1Client::connect(*host_, descriptor));
      client_ = std::move(connected);
      owner_ = ::getpid();
      std::atexit([] { of_this_process().say_finalize(); });
    }
    return client_.get();
  }
  unsigned next_job() { return jobs_++; }
  /// Until the job has been left in order the process's end is a death, also if its exit code is 0.
  void joined() { ++open_jobs_; }
  void left() { --open_jobs_; }
  /// What that death's message is.
  void set_last_words(std::string line) { last_words_ = std::move(line); }

 private:
  // A child that was forked without exec is not the rank, and must not say so.
  void say_finalize() {
    if (::getpid() != owner_ || mpi_took_over()) return;
    if (open_jobs_ == 0) return client_->finalize();
    if (client_->extended()) return;  // the launcher knows that the job was not left, and prints itself
    if (!last_words_.empty()) tell(last_words_);
    // The launcher kills at once. By then the words must have been passed on: this rank's, or another's that prints.
    os::Word never{0};
    host_->wait(never, 0, last_words_.empty() ? kFollow_ns : kFollow_ns / 10);
    client_->abort(1);
  }

  std::unique_ptr<os::Host> host_ = os::make_real_host();
  base::Mutex mutex_;
  std::unique_ptr<Pmi1Client> client_;
  pid_t owner_ = 0;
  unsigned jobs_ = 0;  ///< ranks join jobs in the same order, so the number keeps their keys apart
  std::atomic<int> open_jobs_{0};
  std::string last_words_;  ///< empty where another rank prints why the job ends
};

class Pmi1Launch final : public NodeLaunch {
 public:
  explicit Pmi1Launch(os::Host& host) : NodeLaunch(host) {}
  ~Pmi1Launch() override {
    if (client_ != nullptr && client_->extended()) {
      // Where the start failed, or the job is this rank alone, no rank waits for it: its end is no death.
      const bool alone = !joined_ || size_ == 1;
      if (alone && !left_) [[maybe_unused]]
        const Status left = client_->leave();
    } else if (liveness_ && health().ok()) {
      announce();
      ProcessConnection::of_this_process().set_last_words(
          fmt::format("rank {} ended without leaving the job; the job ends", me_));
    }
    liveness_.reset();
  }

  Status start(const base::Config& config) {
    const LauncherSigns signs = LauncherSigns::now();
    const auto descriptor = signs.number("PMI_FD");
    me_ = signs.number("PMI_RANK").value_or(-1);
    size_ = signs.number("PMI_SIZE").value_or(0);
    if (!descriptor || me_ < 0 || me_ >= size_) {
      return Status(Code::unavailable, "the variables PMI_FD, PMI_RANK and PMI_SIZE name no rank of a job");
    }
    GRAPNEL_TRY(claim_identity());
    auto& connection = ProcessConnection::of_this_process();
    const auto client = connection.client(*descriptor);
    if (!client) return client.status();
    client_ = *client;
    job_ = connection.next_job();
    if (client_->extended()) {
      GRAPNEL_TRY(client_->join());
      left_ = false;
    }
    GRAPNEL_TRY(meet(config, static_cast<Rank>(me_), size_));
    GRAPNEL_ASSIGN_OR_RETURN(auto kept_open, KeptOpen::exchange(*this));
    kept_open_ = std::move(kept_open);
    GRAPNEL_TRY(claim_identity());  // again: a copy of the socket that was closed has ended the claim
    GRAPNEL_TRY(watch([this](const std::string& why) { end_job(1, why, why); },
                      {client_->number(), mpi_took_over, POLLRDHUP, kept_open_.active()}));
    connection.joined();
    joined_ = true;
    return {};
  }

  std::string description() const override { return client_->extended() ? "pmi-1 (grapnel run)" : "pmi-1 (mpiexec)"; }

  Status publish(std::string_view key, ByteView value) override {
    if (client_->extended()) {
      published_.put_string(std::as_bytes(std::span(key))).put_string(value);
      return {};
    }
    GRAPNEL_ASSIGN_OR_RETURN(const auto entries, pmi1_entries(value, client_->value_limit()));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      GRAPNEL_ASSIGN_OR_RETURN(const auto name, pmi1_key(job_, static_cast<Rank>(me_), i, key, client_->key_limit()));
      GRAPNEL_TRY(client_->put(name, entries[i], [this] { return well(); }));
    }
    return {};
  }

  Status fence() override {
    Status passed = client_->extended() ? exchange() : client_->barrier([this] { return well(); });
    // Where MPI has the connection, its end is no death.
    return passed.ok() || mpi_took_over() ? passed : death_or(std::move(passed));
  }

  Result<Bytes> lookup(Rank rank, std::string_view key) override {
    if (client_->extended()) return look_into_tables(rank, key);
    const auto first_entry = entry(rank, key, 0);
    if (!first_entry) {
      if (first_entry.status().code() != Code::invalid_argument) return first_entry.status();
      return nothing(rank, key);
    }
    const auto first = pmi1_first(*first_entry);
    if (!first) return unreadable(rank, key);
    std::string text(first->text);
    for (std::size_t i = 1; i < first->entries; ++i) {
      GRAPNEL_ASSIGN_OR_RETURN(const auto more, entry(rank, key, i));
      text += more;
    }
    auto bytes = from_base64(text);
    if (!bytes) return unreadable(rank, key);
    return std::move(*bytes);
  }

  [[noreturn]] void abort(int exit_code, const std::string& why) override {
    end_job(exit_code, announce_abort() ? fmt::format("rank {}: {}", me_, why) : std::string(), why);
  }

  Status finalize() override {
    if (!liveness_) return {};
    liveness_->say_goodbye();
    // The watcher stays until all ranks are here: a death before that must still end the job.
    GRAPNEL_TRY(fence());
    liveness_.reset();
    kept_open_.close();
    ProcessConnection::of_this_process().left();
    left_ = true;
    claim_.release();
    return client_->extended() ? client_->leave() : Status();
  }

 private:
  Status well() { return liveness_ ? health() : Status(); }

  Result<std::string> entry(Rank rank, std::string_view key, std::size_t number) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto name, pmi1_key(job_, rank, number, key, client_->key_limit()));
    return client_->get(name, [this] { return well(); });
  }

  static Status unreadable(Rank rank, std::string_view key) {
    return Status(Code::refused, fmt::format("what the launcher holds of rank {} under \"{}\" cannot be read",
                                             static_cast<int>(rank), key));
  }

  // One request, whatever the number of ranks.
  Status exchange() {
    const Bytes mine = published_.take();
    published_ = {};
    GRAPNEL_ASSIGN_OR_RETURN(auto table, client_->fence(mine, size_, [this] { return well(); }));
    if (table) tables_.push_back(std::move(*table));
    return {};
  }

  Result<Bytes> look_into_tables(Rank rank, std::string_view key) const {
    if (static_cast<int>(rank) < 0 || static_cast<int>(rank) >= size_) return nothing(rank, key);
    for (auto table = tables_.rbegin(); table != tables_.rend(); ++table) {
      GRAPNEL_ASSIGN_OR_RETURN(const auto found, table->find(rank, key));
      if (found) return Bytes(found->begin(), found->end());
    }
    return nothing(rank, key);
  }

  static Status nothing(Rank rank, std::string_view key) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} has published nothing under \"{}\"", static_cast<int>(rank), key));
  }

  /// Ends the job with `line` as its message, or silently where it is empty: then another rank prints. `grapnel run`
  /// prints `why` with the rank itself.
  [[noreturn]] void end_job(int exit_code, const std::string& line, const std::string& why) {
    if (line.empty()) ::_exit(exit_code);
    const bool launcher_speaks = client_->extended() && why != describe_death(kLauncherGone);
    if (!launcher_speaks) tell(line + "; the job ends");
    leave_after(exit_code, [&] { client_->abort(exit_code, why); });
  }

  Pmi1Client* client_ = nullptr;
  int me_ = 0;
  int size_ = 0;
  unsigned job_ = 0;
  bool joined_ = false;            ///< what `start` does has been done
  bool left_ = true;               ///< the launcher knows of no job that this process is in
  base::Encoder published_;        ///< (key, value) pairs since the last fence
  std::vector<Pmi1Table> tables_;  ///< of the fences at which something was published
  KeptOpen kept_open_;
};

}  // namespace

Result<std::unique_ptr<Launch>> join_pmi1(const base::Config& config, os::Host& host) {
  auto launch = std::make_unique<Pmi1Launch>(host);
  if (Status status = launch->start(config); !status.ok()) return status;
  return std::unique_ptr<Launch>(std::move(launch));
}

}  // namespace grapnel::launch
