// SPDX-License-Identifier: Apache-2.0
#include "run/signals.hpp"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace grapnel::tool {

sigset_t forwarded_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

bool asks_to_end(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT; }

void block_signals() {
  sigset_t blocked = forwarded_signals();
  for (const int signal : {SIGCHLD, SIGPIPE, SIGTTIN, SIGTTOU}) sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
}

namespace {

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

Result<os::Descriptor> open_signalfd(const sigset_t& wanted) {
  os::Descriptor signals(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals.valid()) return signals;
  return Status(Code::system,
                fmt::format("cannot take signals (signalfd): {}; the launcher needs some free descriptors "
                            "(ulimit -n) and a sandbox that allows signalfd",
                            std::strerror(errno)));
}

}  // namespace

Status StopRequests::open() {
  auto signals = open_signalfd(only(SIGTSTP));
  if (!signals) return signals.status();
  signals_ = *std::move(signals);
  return {};
}

bool StopRequests::pending() const {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && sigismember(&pending, SIGTSTP) == 1;
}

void StopRequests::stop() const {
  const sigset_t stop = only(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // the default action, if the signal is still there
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

Result<os::Descriptor> open_signals(Stops stops) {
  sigset_t wanted = forwarded_signals();
  sigaddset(&wanted, SIGCHLD);
  if (stops == Stops::apart) sigdelset(&wanted, SIGTSTP);
  return open_signalfd(wanted);
}

std::optional<int> next_signal(const os::Descriptor& signals) {
  signalfd_siginfo info{};
  if (::read(signals.number(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace grapnel::tool
