// Takes the place of the pthread locks in a test program: a simulated thread that finds a lock taken hands its token on
// and tries again later, instead of blocking in the kernel while the owner waits for that very token. Every thread else
// gets the real function. The thread sanitizer has its own hooks at this place, and tests the free-running mode.
// SPDX-License-Identifier: Apache-2.0
#include "sim/lock_hooks.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "os/sim/scheduler.hpp"

namespace grapnel::sim {

void link_lock_hooks() {}

#if !defined(__SANITIZE_THREAD__)
namespace {

// `slot` is constant-initialised: locks are taken before any constructor has run.
template <typename Lock>
int lock_or_pass(Lock* lock, int (*try_lock)(Lock*), const char* name, std::atomic<void*>& slot) {
  os::SimScheduler* scheduler = os::SimScheduler::current();
  if (scheduler == nullptr) {
    void* real = slot.load(std::memory_order_relaxed);
    if (real == nullptr) slot.store(real = dlsym(RTLD_NEXT, name), std::memory_order_relaxed);
    return reinterpret_cast<int (*)(Lock*)>(real)(lock);
  }
  int answer = try_lock(lock);
  for (unsigned attempt = 0; answer == EBUSY; ++attempt) {
    scheduler->wait_for_lock(lock, attempt);
    answer = try_lock(lock);
  }
  return answer;
}

constinit std::atomic<void*> real_mutex_lock{nullptr};
constinit std::atomic<void*> real_read_lock{nullptr};
constinit std::atomic<void*> real_write_lock{nullptr};

}  // namespace
#endif

}  // namespace grapnel::sim

#if !defined(__SANITIZE_THREAD__)
#define GRAPNEL_LOCK_HOOK extern "C" __attribute__((visibility("default"))) int

GRAPNEL_LOCK_HOOK pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using namespace grapnel::sim;
  return lock_or_pass<pthread_mutex_t>(mutex, &pthread_mutex_trylock, "pthread_mutex_lock", real_mutex_lock);
}

GRAPNEL_LOCK_HOOK pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  using namespace grapnel::sim;
  return lock_or_pass<pthread_rwlock_t>(lock, &pthread_rwlock_tryrdlock, "pthread_rwlock_rdlock", real_read_lock);
}

GRAPNEL_LOCK_HOOK pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  using namespace grapnel::sim;
  return lock_or_pass<pthread_rwlock_t>(lock, &pthread_rwlock_trywrlock, "pthread_rwlock_wrlock", real_write_lock);
}
#endif
