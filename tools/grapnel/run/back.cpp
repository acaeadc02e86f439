// SPDX-License-Identifier: Apache-2.0
#include "run/back.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "base/codec.hpp"
#include "base/output.hpp"
#include "os/limits.hpp"
#include "run/inherited.hpp"
#include "run/job.hpp"
#include "run/labels.hpp"
#include "run/message.hpp"
#include "run/pmi_server.hpp"
#include "run/process_tree.hpp"
#include "run/ranks.hpp"
#include "run/signals.hpp"
#include "status.hpp"

namespace grapnel::tool {
namespace {

constexpr double kDrain_s = 2;
constexpr std::size_t kOwnDescriptors = 32;  // of the launcher itself
constexpr unsigned kAfterTheFront_s = 15;

// This process ends the job in order when the front is gone (end_without_front). Should it be stuck somewhere, the
// kernel ends it a while later, and the ranks with it.
void end_some_time_after_the_front() {
  ::signal(SIGRTMIN, [](int) { ::alarm(kAfterTheFront_s); });
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGRTMIN);
  sigaddset(&both, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &both, nullptr);
  ::signal(SIGALRM, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGRTMIN);
}

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

// The launcher may itself run inside a job of another launcher: none of that one's variables may reach ours.
bool of_an_outer_job(std::string_view variable) {
  const auto begins = [&](std::string_view with) { return variable.substr(0, with.size()) == with; };
  return (begins("PMIX_") && !begins("PMIX_MCA_")) || begins("PMI_") || begins("OMPI_COMM_WORLD_") ||
         begins("MPI_LOCAL");
}

std::vector<std::string> environment_for(int rank, const RunOptions& options, int socket, ino_t socket_file) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!of_an_outer_job(*variable)) environment.emplace_back(*variable);
  }
  environment.push_back(fmt::format("PMI_FD={}", socket));
  environment.push_back(fmt::format("PMI_RANK={}", rank));
  environment.push_back(fmt::format("PMI_SIZE={}", options.ranks));
  // Which launcher it is, also for a program that does not use PMI-1 (launch/launcher_signs.hpp).
  set_variable(environment, fmt::format("GRAPNEL_RUN_RANKS={}", options.ranks));
  set_variable(environment, fmt::format("GRAPNEL_RUN_SOCKET={}", socket_file));
  if (options.nodes > 0) set_variable(environment, fmt::format("GRAPNEL_NODES={}", options.nodes));
  return environment;
}

ino_t file_of(const os::Descriptor& descriptor) {
  struct stat about {};
  return ::fstat(descriptor.number(), &about) == 0 ? about.st_ino : 0;
}

bool debugging() {
  const char* const level = std::getenv("GRAPNEL_LOG");
  return level != nullptr && std::string_view(level) == "debug";
}

class Back {
 public:
  Back(const RunOptions& options, BackStart start)
      : options_(options), start_(std::move(start)), server_(options.ranks), labels_(STDERR_FILENO) {}

  int run() {
    end_some_time_after_the_front();
    ::setpgid(0, 0);  // what the terminal sends to its foreground reaches the front, which passes it on
    adopt_orphans();
    if (const Status started = start_job(); !started.ok()) {
      say(started.message());
      clean_up();
      return 1;
    }
    Job job(
        ranks_, server_, options_.timeout_s,
        [this](const std::string& why, int exit_code) { tell_front(why, exit_code); }, report);
    while (!job.is_over()) serve(job);
    clean_up();
    tell_counts();
    return exit_code_after(job);
  }

 private:
  Status start_job() {
    auto signals = open_signals(Stops::included);
    if (!signals) return signals.status();
    signals_ = *std::move(signals);
    const auto per_rank = static_cast<std::size_t>(options_.label ? 3 : 1);
    want_descriptors(static_cast<std::size_t>(options_.ranks) * per_rank + kOwnDescriptors);
    nothing_ = os::Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
    // Held, so that in every rank the number is free for its socket.
    place_ = os::Descriptor(::fcntl(nothing_.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!place_.valid()) return Status(Code::system, fmt::format("cannot open /dev/null: {}", std::strerror(errno)));
    GRAPNEL_TRY(server_.open());
    for (int rank = 0; rank < options_.ranks; ++rank) {
      if (front_is_gone()) end_without_front();
      GRAPNEL_TRY(start_rank(rank));
    }
    labels_.start();
    return {};
  }

  Status start_rank(int rank) {
    auto socket = server_.add_rank();
    if (!socket) return socket.status();
    Ranks::Start start;
    start.path = start_.program;
    start.arguments = options_.command;
    start.environment = environment_for(rank, options_, place_.number(), file_of(*socket));
    start.input = rank == 0 ? start_.input : nothing_.number();
    start.launcher = socket->number();
    start.launcher_number = place_.number();
    start.kept = start_.kept;
    start.descriptors = start_.descriptors;
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

  // One sleep and what it brought. What a rank has asked arrives before its end.
  void serve(Job& job) {
    std::array<pollfd, 3> entries{
        {{signals_.number(), POLLIN, 0}, {start_.front.number(), POLLIN, 0}, {server_.number(), POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), job.sleep_ms());
    if (entries[1].revents != 0) end_without_front();
    if (entries[2].revents != 0) server_.serve();
    while (const auto signal = next_signal(signals_)) on_signal(job, *signal);
    const std::vector<Ranks::End> ends = ranks_.collect();
    for (const Ranks::End& end : ends) server_.hear_out(end.rank);
    if (const auto request = server_.take_abort()) job.on_abort(*request);
    for (const Ranks::End& end : ends) job.on_rank_end(end);
    job.on_time();
  }

  // What the front was sent and has passed on. A signal that asks for something of the launcher itself is answered here
  // and does not reach the ranks.
  static void on_signal(Job& job, int signal) {
    if (signal == SIGUSR1) {
      report();
    } else if (signal != SIGCHLD) {
      job.on_signal(signal);
    }
  }

  // What the ranks wait for. Takes a second at most.
  static void report() {
    (void)base::write_all(STDERR_FILENO, fmt::format("grapnel run: {}", status_of_job(::getpid())));
  }

  bool front_is_gone() const {
    pollfd entry{start_.front.number(), POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
  }

  void tell_counts() const {
    if (!debugging()) return;
    const PmiServer::Counts& counts = server_.counts();
    say(fmt::format("the server had {} requests from {} ranks, {} at most from one, and {} fences", counts.messages,
                    options_.ranks, counts.most_of_a_rank, counts.fences));
  }

  // A job whose result was lost must not end with 0.
  int exit_code_after(const Job& job) const {
    if (labels_.error() == 0) return job.exit_code();
    say(fmt::format("standard output cannot be written: {}", os::error_words(labels_.error())));
    return job.exit_code() != 0 ? job.exit_code() : 1;
  }

  // Should this process be killed after it has decided, the front has the message and the exit code.
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
  }

  const RunOptions& options_;
  BackStart start_;
  os::Descriptor signals_;
  os::Descriptor nothing_;
  os::Descriptor place_;
  PmiServer server_;
  Labels labels_;
  Ranks ranks_;
};

}  // namespace

int run_back(const RunOptions& options, BackStart start) { return Back(options, std::move(start)).run(); }

}  // namespace grapnel::tool
