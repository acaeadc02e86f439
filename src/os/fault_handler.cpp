// SPDX-License-Identifier: Apache-2.0
#include "os/fault_handler.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <tuple>

#include "os/internal/unix_socket.hpp"

namespace grapnel::os {
namespace {

struct Range {
  std::atomic<std::uintptr_t> begin{0};  ///< 0: free; stored last
  std::atomic<std::size_t> bytes{0};
  std::atomic<FaultFunction> function{nullptr};
  std::atomic<void*> context{nullptr};
};

// The program's action of a signal, read by the signal's handler. `version` is odd while a thread writes; that thread
// has all signals blocked, so no handler on it waits for it. Not by pthread_sigmask, which a front end may wrap so that
// these two are never blocked.
class ProgramAction {
 public:
  struct sigaction exchange(const struct sigaction* next) {
    if (next == nullptr) return load();
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    std::uint64_t mask = 0;
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kAll, &mask, sizeof mask);
    std::uint32_t seen = version_.load(std::memory_order_relaxed) & ~1U;
    while (!version_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire)) seen &= ~1U;
    std::atomic_thread_fence(std::memory_order_release);  // pairs with the fence in `load`
    const Words before = read();
    const auto words = std::bit_cast<Words>(*next);
    for (std::size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_relaxed);
    version_.store(seen + 2, std::memory_order_release);
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof mask);
    return std::bit_cast<struct sigaction>(before);
  }
  struct sigaction load() const {
    for (;;) {
      const std::uint32_t seen = version_.load(std::memory_order_acquire);
      const Words words = read();
      std::atomic_thread_fence(std::memory_order_acquire);
      if (seen % 2 == 0 && version_.load(std::memory_order_relaxed) == seen) {
        return std::bit_cast<struct sigaction>(words);
      }
    }
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(struct sigaction) / sizeof(std::uint64_t)>;
  Words read() const {
    Words words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_relaxed);
    return words;
  }
  std::atomic<std::uint32_t> version_{0};
  std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> words_{};
};

// Read by a signal handler, so without a lock; written by the thread that opens or closes a heap.
std::array<Range, kMostFaultRanges> ranges;
std::atomic<pid_t> owner{0};
std::atomic<std::uint64_t> passed_on{0};
std::atomic<bool> installed{false};
ProgramAction of_segv, of_bus;

#if defined(__x86_64__)
greg_t error_code(const void* machine) { return static_cast<const ucontext_t*>(machine)->uc_mcontext.gregs[REG_ERR]; }
Access access_of(const void* machine) {
  constexpr greg_t kWriteBit = 2;
  return (error_code(machine) & kWriteBit) != 0 ? Access::write : Access::read;
}
// A jump into the range: no page that is mapped there would end it.
bool is_of_code(const void* machine) {
  constexpr greg_t kFetchBit = 16;
  return (error_code(machine) & kFetchBit) != 0;
}
#else
Access access_of(const void*) { return Access::unknown; }
bool is_of_code(const void*) { return false; }
#endif

// Of an access of this thread; others come from `kill` and the like.
bool is_of_access(const siginfo_t* info) { return info->si_code > 0; }

// A fault that a broken memory bank reports is none of ours.
bool is_of_hardware(int number, const siginfo_t* info) {
  return number == SIGBUS && (info->si_code == BUS_MCEERR_AR || info->si_code == BUS_MCEERR_AO);
}

void pass_on(int number, siginfo_t* info, void* machine) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ProgramAction& action = number == SIGSEGV ? of_segv : of_bus;
  struct sigaction earlier = action.load();
  if ((earlier.sa_flags & SA_RESETHAND) != 0) earlier = action.exchange(&standard);
  if ((earlier.sa_flags & SA_SIGINFO) != 0) return earlier.sa_sigaction(number, info, machine);
  if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) return earlier.sa_handler(number);
  // An access is tried again, and ends the process as it would have; what was sent is sent again, and comes when this
  // handler has returned.
  installed.store(false, std::memory_order_relaxed);  // the next call is for the system
  ::sigaction(number, &standard, nullptr);
  if (!is_of_access(info) || is_of_hardware(number, info)) ::raise(number);
}

void on_fault(int number, siginfo_t* info, void* machine) {
  const int kept = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Range& range : ranges) {
    const std::uintptr_t begin = range.begin.load(std::memory_order_acquire);  // pairs with `add_fault_range`
    if (begin == 0 || address - begin >= range.bytes.load(std::memory_order_relaxed)) continue;
    if (!is_of_access(info) || is_of_hardware(number, info) || is_of_code(machine) ||
        ::getpid() != owner.load(std::memory_order_relaxed))
      break;
    range.function.load(std::memory_order_relaxed)(range.context.load(std::memory_order_relaxed), address,
                                                   access_of(machine));
    errno = kept;
    return;
  }
  passed_on.fetch_add(1, std::memory_order_relaxed);
  pass_on(number, info, machine);
  errno = kept;
}

Status install() {
  installed.store(false, std::memory_order_relaxed);  // the calls are for the system
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  ::sigfillset(&action.sa_mask);
  // A fault inside the function must end the process, not hang it.
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&action.sa_mask, number);
  const auto set = [&](int number, ProgramAction& program) {
    struct sigaction earlier {};
    if (::sigaction(number, nullptr, &earlier) != 0) return false;
    if ((earlier.sa_flags & SA_SIGINFO) != 0 && earlier.sa_sigaction == on_fault) return true;  // forked
    program.exchange(&earlier);
    // On another stack only where the program wanted that: it may be too small for a fetch.
    action.sa_flags = SA_SIGINFO | (earlier.sa_flags & SA_ONSTACK);
    return ::sigaction(number, &action, nullptr) == 0;
  };
  if (!set(SIGSEGV, of_segv) || !set(SIGBUS, of_bus)) {
    return internal::system_error("setting the handler of memory faults (sigaction)", errno);
  }
  owner.store(::getpid(), std::memory_order_relaxed);
  installed.store(true, std::memory_order_relaxed);
  return {};
}

}  // namespace

bool exchange_program_action(int number, const struct sigaction* next, struct sigaction* before) {
  if (number != SIGSEGV && number != SIGBUS) return false;
  if (!installed.load(std::memory_order_relaxed)) return false;
  const struct sigaction earlier = (number == SIGSEGV ? of_segv : of_bus).exchange(next);
  if (before != nullptr) *before = earlier;
  return true;
}

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

std::uint64_t faults_passed_on() { return passed_on.load(std::memory_order_relaxed); }

}  // namespace grapnel::os
