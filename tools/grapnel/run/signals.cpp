#include "run/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

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

os::Descriptor open_signals() {
  sigset_t wanted = forwarded_signals();
  sigaddset(&wanted, SIGCHLD);
  return os::Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::optional<int> next_signal(const os::Descriptor& signals) {
  signalfd_siginfo info{};
  if (::read(signals.number(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace grapnel::tool
