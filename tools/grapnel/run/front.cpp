// SPDX-License-Identifier: Apache-2.0
#include "run/front.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/codec.hpp"
#include "os/limits.hpp"
#include "run/back.hpp"
#include "run/inherited.hpp"
#include "run/message.hpp"
#include "run/process_tree.hpp"
#include "run/signals.hpp"

namespace grapnel::tool {
namespace {

constexpr std::size_t kOwnDescriptors = 32;
constexpr std::size_t kLongestVerdict = 4096;  // a longer message is cut

// A terminal's input for rank 0, which is not in the terminal's foreground and may not read it itself.
class TerminalInput {
 public:
  /// What rank 0 reads from.
  int open() {
    std::array<int, 2> ends{};
    if (::isatty(STDIN_FILENO) == 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) return STDIN_FILENO;
    reader_ = os::Descriptor(ends[0]);
    writer_ = os::Descriptor(ends[1]);
    ::fcntl(writer_.number(), F_SETFL, O_NONBLOCK);
    return reader_.number();
  }
  void forget_reader() { reader_.reset(); }
  void forget_writer() { writer_.reset(); }

  /// What to poll for: input while there is none in hand, room while there is.
  pollfd entry() const {
    if (!writer_.valid()) return {-1, 0, 0};
    if (!pending_.empty()) return {writer_.number(), POLLOUT, 0};
    const bool foreground = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
    return {foreground ? STDIN_FILENO : -1, POLLIN, 0};
  }
  void pass_on() {
    if (pending_.empty()) {
      pending_.resize(4096);
      const ssize_t count = ::read(STDIN_FILENO, pending_.data(), pending_.size());
      pending_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
      if (count == 0) writer_.reset();  // ctrl-D
    }
    if (pending_.empty()) return;
    const ssize_t written = ::write(writer_.number(), pending_.data(), pending_.size());
    if (written > 0) pending_.erase(pending_.begin(), pending_.begin() + written);
    if (written < 0 && errno == EPIPE) {
      pending_.clear();
      writer_.reset();
    }
  }

 private:
  os::Descriptor reader_;
  os::Descriptor writer_;
  std::vector<char> pending_;
};

class Front {
 public:
  explicit Front(const RunOptions& options)
      : options_(options),
        spared_(children()),
        kept_(inherited_descriptors()),
        descriptors_(want_descriptors(kOwnDescriptors)) {}

  int run(const std::string& program) {
    if (const Status started = start_back(program); !started.ok()) {
      say(started.message());
      return 1;
    }
    while (!back_has_ended()) serve();
    return end();
  }

 private:
  Status start_back(const std::string& program) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return Status(Code::system, fmt::format("cannot make a pair of sockets: {} (the launcher needs {} descriptors: "
                                              "ulimit -n)",
                                              std::strerror(errno), kOwnDescriptors));
    }
    BackStart start{program, os::Descriptor(ends[0]), ::getpid(), terminal_.open(), kept_, descriptors_};
    back_end_ = os::Descriptor(ends[1]);
    block_signals();
    auto signals = open_signals(Stops::apart);
    if (!signals) return signals.status();
    signals_ = *std::move(signals);
    GRAPNEL_TRY(stops_.open());
    adopt_orphans();
    back_ = ::fork();
    if (back_ < 0) return Status(Code::system, fmt::format("cannot fork: {}", os::error_words(errno)));
    if (back_ == 0) {
      back_end_.reset();
      signals_.reset();
      stops_ = StopRequests();
      terminal_.forget_writer();
      ::_exit(run_back(options_, std::move(start)));
    }
    terminal_.forget_reader();
    return {};
  }

  void serve() {
    std::array<pollfd, 4> entries{{{signals_.number(), POLLIN, 0},
                                   terminal_.entry(),
                                   {told_ ? -1 : back_end_.number(), POLLIN, 0},
                                   {stops_.number(), POLLIN, 0}}};
    // A terminal may take us to its foreground without a signal: look again now and then while it has not.
    const bool background = ::isatty(STDIN_FILENO) != 0 && entries[1].fd < 0;
    ::poll(entries.data(), entries.size(), background ? 1000 : -1);
    if (entries[1].revents != 0) terminal_.pass_on();
    if (entries[2].revents != 0) take_verdict();
    if (stops_.pending()) {
      ::kill(back_, SIGTSTP);
      stops_.stop();
    }
    // Every one of them is passed on as it is; what it means is the second process's to decide (Back::on_signal).
    while (const auto signal = next_signal(signals_)) {
      if (*signal != SIGCHLD) ::kill(back_, *signal);
    }
  }

  bool back_has_ended() { return ::waitpid(back_, &back_status_, WNOHANG) == back_; }

  // The verdict, or the end of the back without one: then SIGCHLD tells the rest.
  void take_verdict() {
    std::array<std::byte, kLongestVerdict> packet;
    const ssize_t count = ::recv(back_end_.number(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    told_ = true;
    if (count <= 0) return;
    base::Decoder decoder(ByteView(packet.data(), static_cast<std::size_t>(count)));
    verdict_ = decoder.get<int>();
    say({reinterpret_cast<const char*>(decoder.rest().data()), decoder.rest().size()});
  }

  int end() {
    if (!told_) take_verdict();
    if (WIFSIGNALED(back_status_) && !verdict_) {
      say(fmt::format("the job's server (process {}) {}; the job ends", back_, end_words(back_status_)));
    }
    kill_descendants(spared_);
    return verdict_.value_or(exit_code_of(back_status_));
  }

  const RunOptions& options_;
  const std::set<pid_t> spared_;  ///< children that a shell left us when it became us by exec
  const std::vector<int> kept_;
  const rlim_t descriptors_;  ///< the soft limit of open files that the ranks get
  TerminalInput terminal_;
  os::Descriptor back_end_;
  os::Descriptor signals_;
  StopRequests stops_;
  pid_t back_ = -1;
  int back_status_ = 0;
  bool told_ = false;  ///< nothing more will come from the back
  std::optional<int> verdict_;
};

}  // namespace

int run_front(const RunOptions& options, const std::string& program) { return Front(options).run(program); }

}  // namespace grapnel::tool
