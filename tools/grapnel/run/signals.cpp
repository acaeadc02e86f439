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

void block_signals(sigset_t& before) {
  sigset_t blocked = forwarded_signals();
  for (const int signal : {SIGCHLD, SIGPIPE, SIGTTIN, SIGTTOU}) sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
}

Result<os::Descriptor> open_signals() {
  sigset_t wanted = forwarded_signals();
  sigaddset(&wanted, SIGCHLD);
  os::Descriptor signals(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals.valid()) return signals;
  return Status(Code::system,
                fmt::format("cannot take signals (signalfd): {}; the launcher needs some free descriptors "
                            "(ulimit -n) and a sandbox that allows signalfd",
                            std::strerror(errno)));
}

std::optional<int> next_signal(const os::Descriptor& signals) {
  signalfd_siginfo info{};
  if (::read(signals.number(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace grapnel::tool
