// SPDX-License-Identifier: Apache-2.0
#include "os/fault_handler.hpp"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "os/internal/unix_socket.hpp"

namespace grapnel::os {
namespace {

struct Range {
  std::atomic<std::uintptr_t> begin{0};  ///< 0: free; stored last
  std::atomic<std::size_t> bytes{0};
  std::atomic<FaultFunction> function{nullptr};
  std::atomic<void*> context{nullptr};
};

// Read by a signal handler, so without a lock; written by the thread that opens or closes a heap.
std::array<Range, kMostFaultRanges> ranges;
std::atomic<pid_t> owner{0};
struct sigaction earlier_segv, earlier_bus;

Access access_of([[maybe_unused]] const void* machine) {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;
  const auto& registers = static_cast<const ucontext_t*>(machine)->uc_mcontext.gregs;
  return (registers[REG_ERR] & kWriteBit) != 0 ? Access::write : Access::read;
#else
  return Access::unknown;
#endif
}

void pass_on(int number, siginfo_t* info, void* machine) {
  const struct sigaction& earlier = number == SIGSEGV ? earlier_segv : earlier_bus;
  if ((earlier.sa_flags & SA_SIGINFO) != 0) return earlier.sa_sigaction(number, info, machine);
  if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) return earlier.sa_handler(number);
  // The access is tried again, and ends the process as it would have.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(number, &standard, nullptr);
}

// A fault that a broken memory bank reports is none of ours.
bool is_of_hardware(int number, const siginfo_t* info) {
  return number == SIGBUS && (info->si_code == BUS_MCEERR_AR || info->si_code == BUS_MCEERR_AO);
}

void on_fault(int number, siginfo_t* info, void* machine) {
  const int kept = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Range& range : ranges) {
    const std::uintptr_t begin = range.begin.load(std::memory_order_acquire);  // pairs with `add_fault_range`
    if (begin == 0 || address - begin >= range.bytes.load(std::memory_order_relaxed)) continue;
    if (is_of_hardware(number, info) || ::getpid() != owner.load(std::memory_order_relaxed)) break;
    range.function.load(std::memory_order_relaxed)(range.context.load(std::memory_order_relaxed), address,
                                                   access_of(machine));
    errno = kept;
    return;
  }
  pass_on(number, info, machine);
  errno = kept;
}

Status install() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigfillset(&action.sa_mask);
  // A fault inside the function must end the process, not hang it.
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&action.sa_mask, number);
  if (::sigaction(SIGSEGV, &action, &earlier_segv) != 0 || ::sigaction(SIGBUS, &action, &earlier_bus) != 0) {
    return internal::system_error("setting the handler of memory faults (sigaction)", errno);
  }
  owner.store(::getpid(), std::memory_order_relaxed);
  return {};
}

}  // namespace

Status add_fault_range(std::uintptr_t begin, std::size_t bytes, FaultFunction function, void* context) {
  if (owner.load(std::memory_order_relaxed) != ::getpid()) GRAPNEL_TRY(install());
  for (Range& range : ranges) {
    if (range.begin.load(std::memory_order_relaxed) != 0) continue;
    range.bytes.store(bytes, std::memory_order_relaxed);
    range.function.store(function, std::memory_order_relaxed);
    range.context.store(context, std::memory_order_relaxed);
    range.begin.store(begin, std::memory_order_release);  // pairs with the look in `on_fault`
    return {};
  }
  return Status(Code::unavailable, "the process has as many shared heaps as it can have; close one");
}

void remove_fault_range(std::uintptr_t begin) {
  for (Range& range : ranges) {
    if (range.begin.load(std::memory_order_relaxed) == begin) range.begin.store(0, std::memory_order_release);
  }
}

}  // namespace grapnel::os
