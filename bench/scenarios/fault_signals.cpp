// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fault_signals.hpp"

#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "session.hpp"

namespace grapnel::bench {
namespace {

constexpr std::array<int, 2> kSignals = {SIGSEGV, SIGBUS};

// Used by a signal handler; written while no access faults.
std::array<struct sigaction, kSignals.size()> earlier;
std::atomic<std::uint64_t> signals{0};

void set(int number, const struct sigaction& action, struct sigaction* before) {
  if (::sigaction(number, &action, before) == 0) return;
  fail(Status(Code::system, std::string("sigaction: ") + std::strerror(errno)));
}

void on_signal(int number, siginfo_t* info, void* machine) {
  signals.fetch_add(1, std::memory_order_relaxed);
  const struct sigaction& handler = earlier[number == kSignals[0] ? 0 : 1];
  if ((handler.sa_flags & SA_SIGINFO) != 0) return handler.sa_sigaction(number, info, machine);
  ::signal(number, SIG_DFL);  // the access is tried again, and ends the process as it would have
}

}  // namespace

FaultSignals::FaultSignals() {
  signals.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (::sigaction(kSignals[i], nullptr, &earlier[i]) != 0) earlier[i] = {};
    struct sigaction action = earlier[i];
    action.sa_flags |= SA_SIGINFO;
    action.sa_sigaction = on_signal;
    set(kSignals[i], action, nullptr);
  }
}

FaultSignals::~FaultSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) set(kSignals[i], earlier[i], nullptr);
}

std::uint64_t FaultSignals::count() const { return signals.load(std::memory_order_relaxed); }

}  // namespace grapnel::bench
