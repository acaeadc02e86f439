// sigaction, signal, sigprocmask and pthread_sigmask: an action for SIGSEGV or SIGBUS gets the faults that do not
// concern the heap, and these two are never blocked.
// SPDX-License-Identifier: Apache-2.0
#include "api/tmk/signal_calls.hpp"

#include <signal.h>

#include "api/tmk/next_call.hpp"

using namespace grapnel::tmk;

namespace {

constinit NextCall<int(int, const struct sigaction*, struct sigaction*)> next_sigaction("sigaction");
constinit NextCall<sighandler_t(int, sighandler_t)> next_signal("signal");
constinit NextCall<int(int, const sigset_t*, sigset_t*)> next_sigprocmask("sigprocmask");
constinit NextCall<int(int, const sigset_t*, sigset_t*)> next_pthread_sigmask("pthread_sigmask");

// Here no lock of the loader is taken in a signal handler that calls them.
[[gnu::constructor]] void find_all() {
  next_sigaction.get(), next_signal.get(), next_sigprocmask.get(), next_pthread_sigmask.get();
}

/// Calls `change(how, set, before)` without the two signals where it would block them.
template <typename Change>
int change_mask(int how, const sigset_t* set, sigset_t* before, Change& change) {
  if (set == nullptr || how == SIG_UNBLOCK) return change(how, set, before);
  sigset_t others = *set;
  sigdelset(&others, SIGSEGV);
  sigdelset(&others, SIGBUS);
  return change(how, static_cast<const sigset_t*>(&others), before);
}

}  // namespace

void grapnel::tmk::unblock_fault_signals() {
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGSEGV);
  sigaddset(&faults, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

extern "C" {

GRAPNEL_API int sigaction(int number, const struct sigaction* next, struct sigaction* before) noexcept {
  return grapnel::exchange_fault_action(number, next, before) ? 0 : next_sigaction(number, next, before);
}

GRAPNEL_API sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction next {
  }, before{};
  next.sa_handler = handler;
  next.sa_flags = SA_RESTART;  // as the system's
  if (handler == SIG_ERR || !grapnel::exchange_fault_action(number, &next, &before))
    return next_signal(number, handler);
  return before.sa_handler;
}

GRAPNEL_API int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return change_mask(how, set, before, next_sigprocmask);
}

GRAPNEL_API int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return change_mask(how, set, before, next_pthread_sigmask);
}

}  // extern "C"
