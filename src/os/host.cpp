// SPDX-License-Identifier: Apache-2.0
#include "os/host.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/log.hpp"
#include "base/units.hpp"
#include "os/internal/cpu_set.hpp"
#include "os/internal/deadline.hpp"
#include "os/internal/processor_limits.hpp"
#include "os/internal/unix_socket.hpp"
#include "os/limits.hpp"
#include "os/placement.hpp"

namespace grapnel::os {
namespace {

static_assert(sizeof(Word) == 4 && Word::is_always_lock_free, "a futex is a plain 32-bit word");

// The shared kind of futex (not FUTEX_PRIVATE_FLAG): the words lie in memory of several processes.
long futex(Word& word, int operation, std::uint32_t value, const timespec* timeout) {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

constexpr std::size_t kLeastStackBytes = base::kMiB;
constexpr std::size_t kMostStackBytes = 8 * base::kMiB;

class RealThread final : public Thread {
 public:
  // 15 characters are what the kernel keeps of a name.
  RealThread(const std::string& name, std::function<void()> body) : name_(name.substr(0, 15)), body_(std::move(body)) {}
  ~RealThread() override {
    if (started_) ::pthread_join(thread_, nullptr);
  }

  // The processors are a wish: a sandbox may refuse sched_setaffinity, and processors may have been taken away since.
  Status start(const std::vector<int>& cpus) {
    int error = create(cpus);
    if (error != 0 && !cpus.empty()) {
      base::log_info("thread {} runs where its process does: its own processors were refused ({})", name_,
                     error_words(error));
      error = create({});
    }
    if (error != 0) return internal::system_error(fmt::format("starting the thread {}", name_).c_str(), error);
    started_ = true;
    return {};
  }

 private:
  int create(const std::vector<int>& cpus) {
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    set_stack(attributes);
    int error = 0;
    if (!cpus.empty()) {
      const internal::CpuSet set(cpus);
      error = ::pthread_attr_setaffinity_np(&attributes, set.bytes(), set.get());
    }
    if (error == 0) error = create_with(attributes);
    ::pthread_attr_destroy(&attributes);
    return error;
  }

  // By default a thread's stack is as large as the stack limit, which users raise to more than there are addresses, or
  // lower to less than UCX needs.
  static void set_stack(pthread_attr_t& attributes) {
    std::size_t bytes = 0;
    if (::pthread_attr_getstacksize(&attributes, &bytes) != 0) return;
    ::pthread_attr_setstacksize(&attributes, std::clamp(bytes, kLeastStackBytes, kMostStackBytes));
  }

  // The program's signal handlers were written for the program's threads: ours take no signal but those that a thread
  // causes itself. The mask is inherited, so it is set around the creation.
  int create_with(const pthread_attr_t& attributes) {
    sigset_t blocked;
    sigset_t before;
    ::sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) ::sigdelset(&blocked, own);
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int error = ::pthread_create(&thread_, &attributes, &RealThread::run, this);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
  }

  static void* run(void* self) {
    auto* thread = static_cast<RealThread*>(self);
    ::pthread_setname_np(::pthread_self(), thread->name_.c_str());
    thread->body_();
    return nullptr;
  }

  const std::string name_;
  const std::function<void()> body_;
  pthread_t thread_{};
  bool started_ = false;
};

class RealHost final : public Host {
 public:
  std::uint64_t now_ns() override { return os::monotonic_ns(); }

  std::size_t processors() override {
    const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    return internal::usable_processors("", online > 0 ? static_cast<std::size_t>(online) : 1);
  }

  int cpu() override { return ::sched_getcpu(); }
  bool move_to_cpu(int cpu) override { return os::move_to_cpu(cpu); }

  void relax() override { pause(); }

  void yield() override { ::sched_yield(); }

  void wait(Word& word, std::uint32_t seen, std::uint64_t timeout_ns) override {
    // Every outcome (woken, changed before, signal, timeout) means the same to the caller: look again.
    const timespec timeout = internal::timespec_of(timeout_ns);
    futex(word, FUTEX_WAIT, seen, &timeout);
  }

  void wake(Word& word) override { futex(word, FUTEX_WAKE, INT32_MAX, nullptr); }

  Result<std::unique_ptr<Thread>> start(const std::string& name, const std::vector<int>& cpus,
                                        std::function<void()> body) override {
    auto thread = std::make_unique<RealThread>(name, std::move(body));
    if (Status status = thread->start(cpus); !status.ok()) return status;
    return std::unique_ptr<Thread>(std::move(thread));
  }
};

}  // namespace

std::unique_ptr<Host> make_real_host() { return std::make_unique<RealHost>(); }

}  // namespace grapnel::os
