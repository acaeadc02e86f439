// SPDX-License-Identifier: Apache-2.0
#include "runtime/internal/signal_reports.hpp"

#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>

namespace grapnel::runtime {
namespace {

constexpr std::array kCrashes{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
constexpr int kMostFrames = 64;
constexpr std::size_t kStackBytes = 64 * 1024;

std::atomic<const launch::StatusSocket*> asked{nullptr};
std::atomic<bool> crashing{false};
char crash_head[320];  ///< "grapnel[3]: host vm, process 123: "
alignas(16) char crash_stack[kStackBytes];
int status_signal = 0;

void on_status_signal(int) {
  const int error = errno;
  if (const launch::StatusSocket* socket = asked.load()) socket->ask_for_report();
  errno = error;
}

void write_text(const char* text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, ::strlen(text));
}

// SA_RESETHAND has set the default again: the signal that is raised here ends the process when this returns.
void on_crash(int signal) {
  if (!crashing.exchange(true)) {
    write_text(crash_head);
    const char* const name = ::sigabbrev_np(signal);
    write_text("signal SIG");
    write_text(name != nullptr ? name : "?");
    write_text("; its thread's calls, innermost first:\n");
    void* frames[kMostFrames];
    const int count = ::backtrace(frames, kMostFrames);
    ::backtrace_symbols_fd(frames, count, STDERR_FILENO);
  }
  ::raise(signal);
}

bool is_default(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

void set(int signal, void (*handler)(int), int flags) {
  if (!is_default(signal)) return;
  struct sigaction ours {};
  ours.sa_handler = handler;
  ours.sa_flags = flags;
  sigemptyset(&ours.sa_mask);
  ::sigaction(signal, &ours, nullptr);
}

void take_back(int signal, void (*handler)(int)) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != handler) return;
  ::signal(signal, SIG_DFL);
}

void open_backtrace(std::size_t rank) {
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads what it needs, which a handler must not do
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  std::snprintf(crash_head, sizeof crash_head, "grapnel[%zu] error: rank %zu on host %s (process %d) crashes by ", rank,
                rank, host, static_cast<int>(::getpid()));
  stack_t now{};
  // For this thread, whose own stack may be what is used up.
  if (::sigaltstack(nullptr, &now) == 0 && (now.ss_flags & SS_DISABLE) != 0) {
    stack_t ours{};
    ours.ss_sp = crash_stack;
    ours.ss_size = sizeof crash_stack;
    ::sigaltstack(&ours, nullptr);
  }
  for (const int signal : kCrashes) set(signal, on_crash, SA_ONSTACK | static_cast<int>(SA_RESETHAND));
}

}  // namespace

void open_signal_reports(const Settings& settings, const launch::StatusSocket* socket, std::size_t rank) {
  if (settings.backtrace) open_backtrace(rank);
  if (settings.status_signal == 0 || socket == nullptr) return;
  asked.store(socket);
  status_signal = settings.status_signal;
  set(status_signal, on_status_signal, SA_RESTART);
}

void close_signal_reports(const launch::StatusSocket* socket) {
  for (const int signal : kCrashes) take_back(signal, on_crash);
  if (socket == nullptr || asked.load() != socket) return;
  take_back(status_signal, on_status_signal);
  asked.store(nullptr);
}

}  // namespace grapnel::runtime
