#include "run/back.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/codec.hpp"
#include "run/job.hpp"
#include "run/labels.hpp"
#include "run/message.hpp"
#include "run/pmix_server.hpp"
#include "run/process_tree.hpp"
#include "run/ranks.hpp"
#include "run/session_directory.hpp"
#include "run/signals.hpp"

namespace grapnel::tool {
namespace {

constexpr double kDrain_s = 2;

void set_variable(std::vector<std::string>& environment, const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('=') + 1);
  for (std::string& existing : environment) {
    if (existing.compare(0, name.size(), name) == 0) {
      existing = variable;
      return;
    }
  }
  environment.push_back(variable);
}

Result<std::vector<std::string>> environment_for(int rank, const RunOptions& options, PmixServer& server) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  auto added = server.environment_of(rank);
  if (!added) return added.status();
  for (const std::string& variable : *added) set_variable(environment, variable);
  // For whoever must know that there are others but does not speak PMIx (launch/launcher_signs.hpp).
  set_variable(environment, fmt::format("GRAPNEL_RUN_RANKS={}", options.ranks));
  if (options.nodes > 0) set_variable(environment, fmt::format("GRAPNEL_NODES={}", options.nodes));
  return environment;
}

class Back {
 public:
  Back(const RunOptions& options, BackStart start)
      : options_(options),
        start_(std::move(start)),
        errors_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)),
        labels_(errors_.number()) {}

  int run() {
    ::setpgid(0, 0);  // what the terminal sends to its foreground reaches the front, which passes it on
    adopt_orphans();
    if (const Status started = start_job(); !started.ok()) {
      say(started.message());
      clean_up();
      return 1;
    }
    Job job(ranks_, *server_, options_.timeout_s,
            [this](const std::string& why, int exit_code) { tell_front(why, exit_code); });
    while (!job.is_over()) serve(job);
    clean_up();
    return job.exit_code();
  }

 private:
  Status start_job() {
    signals_ = open_signals();
    GRAPNEL_TRY(create_session_directory(start_.session_directory));
    auto server = PmixServer::start(options_.ranks, start_.session_directory);
    if (!server) return server.status();
    server_ = std::move(*server);
    nothing_ = os::Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
    silence_library();
    for (int rank = 0; rank < options_.ranks; ++rank) GRAPNEL_TRY(start_rank(rank));
    labels_.start();
    return {};
  }

  // The PMIx library reports every client that dies in mid-sentence on stderr; the user gets our one line instead.
  void silence_library() {
    const char* log = std::getenv("GRAPNEL_LOG");
    if (log != nullptr && std::string_view(log) == "debug") return;
    say_through(errors_.number());
    ::dup2(nothing_.number(), STDERR_FILENO);
  }

  Status start_rank(int rank) {
    auto environment = environment_for(rank, options_, *server_);
    if (!environment) return environment.status();
    Ranks::Start start;
    start.path = start_.program;
    start.arguments = options_.command;
    start.environment = std::move(*environment);
    start.input = rank == 0 ? start_.input : nothing_.number();
    start.errors = errors_.number();
    start.mask = start_.mask;
    Labels::Pipes pipes;
    if (options_.label) {
      auto added = labels_.add_rank();
      if (!added) return added.status();
      pipes = std::move(*added);
      start.output = pipes.output.number();
      start.errors = pipes.errors.number();
    }
    return ranks_.start(start);
  }

  // One sleep and what it brought. Abort requests come before ends: the rank that asked ends right after.
  void serve(Job& job) {
    std::array<pollfd, 3> entries{
        {{signals_.number(), POLLIN, 0}, {start_.front.number(), POLLIN, 0}, {server_->abort_event(), POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), job.sleep_ms());
    if (entries[1].revents != 0) end_without_front();
    if (const auto request = server_->take_abort()) job.on_abort(*request);
    while (const auto signal = next_signal(signals_)) {
      if (*signal != SIGCHLD) job.on_signal(*signal);
    }
    for (const Ranks::End& end : ranks_.collect()) job.on_rank_end(end);
    job.on_time();
  }

  // PMIx 4.2.2's server can crash when ranks die during a fence (seen with mpirun; openpmix issue 1122 and prrte issue
  // 109 look alike). Should it take this process along, the front has the message and the exit code.
  void tell_front(const std::string& why, int exit_code) const {
    base::Encoder verdict;
    verdict.put(exit_code).put_bytes(std::as_bytes(std::span(why)));
    const ByteView packet = verdict.view();
    // It fails when the front is gone; then that is the message (end_without_front).
    [[maybe_unused]] const auto sent = ::send(start_.front.number(), packet.data(), packet.size(), MSG_NOSIGNAL);
  }

  [[noreturn]] void end_without_front() {
    say(fmt::format("the launcher (process {}) is gone; the job ends", start_.front_process));
    clean_up();
    ::_exit(1);
  }

  void clean_up() {
    kill_descendants({});
    labels_.drain(kDrain_s);
    remove_session_directory(start_.session_directory);
  }

  const RunOptions& options_;
  BackStart start_;
  os::Descriptor errors_;  ///< what was stderr at start
  os::Descriptor signals_;
  os::Descriptor nothing_;
  std::unique_ptr<PmixServer> server_;
  Labels labels_;
  Ranks ranks_;
};

}  // namespace

int run_back(const RunOptions& options, BackStart start) { return Back(options, std::move(start)).run(); }

}  // namespace grapnel::tool
