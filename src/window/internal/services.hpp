// What windows build on, of one rank; and the locks that its threads have asked for and not been granted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "core/core.hpp"
#include "locks/lock_set.hpp"
#include "locks/locks.hpp"
#include "rma/near.hpp"
#include "rma/rma.hpp"
#include "segment/lent.hpp"
#include "sync/barrier.hpp"
#include "sync/signals.hpp"

namespace grapnel::window {

class Window;

/// A place in the queue of a window's lock.
struct AskedLock {
  Window* window = nullptr;
  int target = 0;
  std::shared_ptr<locks::Acquisition> acquisition;
  std::thread::id thread = {};
};

/// Each thread has at most one: two threads that both lock a and then b could otherwise each be granted one of the two.
/// Threads: any.
class AskedLocks {
 public:
  void add(AskedLock asked);
  /// Of what this thread has added, at least.
  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  /// Removes and answers it; no acquisition where there is none.
  AskedLock take(const Window& window, int target);
  /// That of the calling thread; no window where there is none.
  AskedLock of_this_thread() const;
  /// The targets of a window that some thread has asked for.
  std::vector<int> targets_of(const Window& window) const;

 private:
  std::atomic<std::size_t> count_{0};  ///< relaxed: a thread looks for what it has added itself
  mutable base::Mutex mutex_;
  std::vector<AskedLock> asked_ GRAPNEL_GUARDED_BY(mutex_);
};

struct Services {
  launch::Launch& launch;
  progress::Waiting& waiting;
  exchange::GroupExchange& exchange;
  segment::SegmentTable& segments;
  locks::Locks& locks;
  rma::Rma& rma;
  const rma::Near& near;
  segment::Lent& lent;
  sync::Barriers& barriers;
  sync::Signals& signals;
  AskedLocks asked = {};
  /// Locks that this rank holds or has asked for, in all windows. Relaxed: a thread counts what it took itself.
  std::atomic<int> locks_taken{0};
};

}  // namespace grapnel::window
