// SPDX-License-Identifier: Apache-2.0
#include "selftest/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "os/clock.hpp"
#include "os/limits.hpp"
#include "run/message.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr int kBetweenLooks_ms = 100;
// A launcher ends its ranks on other hosts. A rank has nothing to end, and its own launcher soon kills this process.
constexpr std::uint64_t kLauncherToEnd_ns = 2 * base::kSecond_ns, kRankToEnd_ns = 300 * base::kMillisecond_ns;
// Lines that an ended launcher's helpers still hold back are not waited for longer.
constexpr std::uint64_t kAfterEnd_ns = 300 * base::kMillisecond_ns;
constexpr std::size_t kLongestLine = 16 << 10;

std::atomic<int> taken_signal{0};

void note_signal(int signal) { taken_signal.store(signal); }

std::vector<std::string> environment_without(const std::vector<std::string>& prefixes) {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const bool goes =
        std::any_of(prefixes.begin(), prefixes.end(), [&](const auto& one) { return text.starts_with(one); });
    if (!goes) kept.emplace_back(text);
  }
  return kept;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The whole lines of one of the child's outputs.
class LineReader {
 public:
  LineReader(os::Descriptor pipe, bool error) : pipe_(std::move(pipe)), error_(error) {}
  int number() const { return pipe_.valid() ? pipe_.number() : -1; }
  void read(const OnLine& on_line) {
    std::array<char, 4096> part;
    const ssize_t count = ::read(pipe_.number(), part.data(), part.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return finish(on_line);
    text_.append(part.data(), static_cast<std::size_t>(count));
    for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      on_line(std::string_view(text_).substr(0, end), error_);
      text_.erase(0, end + 1);
    }
    if (text_.size() > kLongestLine) text_.erase(0, text_.size() - kLongestLine);
  }

 private:
  void finish(const OnLine& on_line) {
    if (!text_.empty()) on_line(text_, error_);
    text_.clear();
    pipe_.reset();
  }
  os::Descriptor pipe_;
  const bool error_;
  std::string text_;
};

struct Pipe {
  os::Descriptor reader, writer;
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    reader = os::Descriptor(ends[0]);
    writer = os::Descriptor(ends[1]);
    return true;
  }
};

class Child {
 public:
  Child(const ChildOptions& options, Pipe out, Pipe error)
      : options_(options),
        readers_{LineReader(std::move(out.reader), false), LineReader(std::move(error.reader), true)} {
    std::vector<std::string> command = options.command, environment = environment_without(options.unset);
    const auto words = pointers_to(command), variables = pointers_to(environment);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    if (options.own_group) ::setpgid(0, 0);
    ::dup2(out.writer.number(), STDOUT_FILENO);
    ::dup2(error.writer.number(), STDERR_FILENO);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
    ::execve(words.front(), words.data(), variables.data());
    ::_exit(127);
  }

  bool started() const { return process_ > 0; }

  ChildEnd run(const std::function<double()>& seconds_left, const OnLine& on_line) {
    const std::uint64_t to_end_ns = options_.own_group ? kLauncherToEnd_ns : kRankToEnd_ns;
    ChildEnd end;
    while (!ended()) {
      look(on_line);
      if (asked_ns_ == 0 && (seconds_left() <= 0 || taken_signal.load() != 0)) {
        end.signal = taken_signal.load();
        end.timed_out = end.signal == 0;
        asked_ns_ = os::monotonic_ns();
        kill(SIGTERM);
      }
      if (asked_ns_ != 0 && os::monotonic_ns() - asked_ns_ > to_end_ns) kill(SIGKILL);
    }
    const std::uint64_t limit = os::monotonic_ns() + kAfterEnd_ns;
    while ((readers_[0].number() >= 0 || readers_[1].number() >= 0) && os::monotonic_ns() < limit) look(on_line);
    if (options_.own_group) ::kill(-process_, SIGKILL);  // what it has left behind
    end.exit_code = exit_code_of(status_);
    return end;
  }

 private:
  bool ended() { return ::waitpid(process_, &status_, WNOHANG) == process_; }
  void kill(int signal) { ::kill(options_.own_group ? -process_ : process_, signal); }
  void look(const OnLine& on_line) {
    std::array<pollfd, 2> entries{{{readers_[0].number(), POLLIN, 0}, {readers_[1].number(), POLLIN, 0}}};
    if (::poll(entries.data(), entries.size(), kBetweenLooks_ms) <= 0) return;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      if (entries[i].revents != 0) readers_[i].read(on_line);
    }
  }

  const ChildOptions& options_;
  std::array<LineReader, 2> readers_;
  pid_t process_ = -1;
  int status_ = 0;
  std::uint64_t asked_ns_ = 0;  ///< when it was asked to end
};

}  // namespace

Result<ChildEnd> run_child(const ChildOptions& options, const std::function<double()>& seconds_left,
                           const OnLine& on_line) {
  Pipe out, error;
  if (!out.open() || !error.open())
    return Status(Code::system, fmt::format("cannot make a pipe: {}", os::error_words(errno)));
  Child child(options, std::move(out), std::move(error));
  if (!child.started()) return Status(Code::system, fmt::format("cannot fork: {}", os::error_words(errno)));
  return child.run(seconds_left, on_line);
}

void take_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

}  // namespace grapnel::tool::selftest
