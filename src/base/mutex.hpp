// Mutexes of one process, with what they guard in clang's words: `./dev check` compiles the sources that use them with
// -Wthread-safety, and a guarded member that is reached without its mutex is an error there. Other compilers see plain
// mutexes.
//
//   base::Mutex mutex_;
//   std::map<int, Thing> things_ GRAPNEL_GUARDED_BY(mutex_);
//   …
//   const base::MutexLock lock(mutex_);
//
// Between processes: launch::NodeMutex. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <shared_mutex>

#ifdef __clang__
#define GRAPNEL_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define GRAPNEL_THREAD_ATTRIBUTE(x)
#endif

/// Of a member: it is read and written under that mutex only.
#define GRAPNEL_GUARDED_BY(mutex) GRAPNEL_THREAD_ATTRIBUTE(guarded_by(mutex))
/// Of a function: the caller holds that mutex.
#define GRAPNEL_REQUIRES(mutex) GRAPNEL_THREAD_ATTRIBUTE(requires_capability(mutex))
/// The same, alone or beside others.
#define GRAPNEL_REQUIRES_SHARED(mutex) GRAPNEL_THREAD_ATTRIBUTE(requires_shared_capability(mutex))

namespace grapnel::base {

class GRAPNEL_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() GRAPNEL_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() GRAPNEL_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() GRAPNEL_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

class GRAPNEL_THREAD_ATTRIBUTE(capability("mutex")) SharedMutex {
 public:
  void lock() GRAPNEL_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() GRAPNEL_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  void lock_shared() GRAPNEL_THREAD_ATTRIBUTE(acquire_shared_capability()) { mutex_.lock_shared(); }
  void unlock_shared() GRAPNEL_THREAD_ATTRIBUTE(release_shared_capability()) { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// Holds the mutex alone.
template <typename Kind>
class GRAPNEL_THREAD_ATTRIBUTE(scoped_lockable) BasicLock {
 public:
  explicit BasicLock(Kind& mutex) GRAPNEL_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  /// After a `try_lock` that has it.
  BasicLock(Kind& mutex, std::adopt_lock_t) GRAPNEL_THREAD_ATTRIBUTE(requires_capability(mutex)) : mutex_(mutex) {}
  ~BasicLock() GRAPNEL_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  BasicLock(const BasicLock&) = delete;
  BasicLock& operator=(const BasicLock&) = delete;

 private:
  Kind& mutex_;
};

using MutexLock = BasicLock<Mutex>;
using ExclusiveLock = BasicLock<SharedMutex>;

/// Holds the mutex beside others that share it: guarded members are read.
class GRAPNEL_THREAD_ATTRIBUTE(scoped_lockable) SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) GRAPNEL_THREAD_ATTRIBUTE(acquire_shared_capability(mutex)) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~SharedLock() GRAPNEL_THREAD_ATTRIBUTE(release_generic_capability()) { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace grapnel::base
