// Locks: places that are taken now and waited for at the first use, and what an operation waits for before it is sent.
//
// Invariants:
//  1. An operation is sent after its target's lock was granted, and is complete before the lock is released.
//  2. A thread has at most one place in a queue that was not granted yet, in all windows together: it waits for that
//     one before it asks for another lock. So ranks that lock in the same order never wait for each other in a circle.
//  3. One thread waits for a target's access; the others wait for that thread.
//  4. A shared lock of a rank that has another one joins the readers that hold it (locks::Ask::joins_readers). Else two
//     ranks could each hold one shared that a writer waits for, and wait behind the other's writer.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "window/internal/services.hpp"
#include "window/internal/state_lock.hpp"
#include "window/planted.hpp"
#include "window/window.hpp"

namespace grapnel::window {

// ---- several threads

Status Window::wait_for_change(std::uint32_t seen) {
  return services_.waiting.on_word(changes_, [seen](std::uint32_t value) { return value != seen; });
}

void Window::changed() {
  if (!options_.many_threads) return;
  changes_.fetch_add(1, std::memory_order_release);
  services_.waiting.host().wake(changes_);
}

void Window::set_access(int place, Access access) {
  {
    const StateLock lock(*this);
    target(place).access = access;
  }
  changed();
}

// ---- access to a target

Outcome Window::get_access(int place) {
  Access before{};
  for (;;) {
    std::uint32_t seen = 0;
    {
      const StateLock lock(*this);
      if (may_go(place)) return {};
      before = target(place).access;
      seen = changes_.load(std::memory_order_acquire);
      if (before != Access::in_work) {
        target(place).access = Access::in_work;
        break;
      }
    }
    GRAPNEL_ASSERT(options_.many_threads || planted(Bug::used_before_granted),
                   "a wait for another thread at target {} of a window that one thread uses", place);
    GRAPNEL_WINDOW_TRY(wait_for_change(seen));
  }
  Outcome got = wait_for_access(place, before);
  set_access(place, got.ok() ? Access::granted : before);
  return got;
}

Outcome Window::wait_for_access(int place, Access before) {
  if (planted(Bug::used_before_granted) && before == Access::asked) return {};
  if (before == Access::none) return take_shared(place);
  if (before == Access::awaits_post) return wait_for_post(place);
  GRAPNEL_ASSERT(before == Access::asked, "access {} of target {}", static_cast<int>(before), place);
  const AskedLock asked = services_.asked.take(*this, place);
  if (asked.acquisition == nullptr) {  // an earlier wait for it has failed
    GRAPNEL_WINDOW_TRY(services_.waiting.health());
    return Status(Code::unavailable, fmt::format("the lock of target {} was not granted", place));
  }
  return locks_->finish(*asked.acquisition, nullptr);
}

// ---- locks

Outcome Window::settle_asked() {
  if (planted(Bug::two_places)) return {};
  const AskedLock asked = services_.asked.of_this_thread();
  return asked.window == nullptr ? Outcome() : asked.window->get_access(asked.target);
}

bool Window::joins_readers() const { return services_.locks_taken.load(std::memory_order_relaxed) != 0; }

void Window::count_lock(int change) {
  const int before = services_.locks_taken.fetch_add(change, std::memory_order_relaxed);
  GRAPNEL_ASSERT(before + change >= 0, "{} locks are counted, and {} more", before, change);
}

int Window::held_until() {
  const StateLock lock(*this);
  return static_cast<int>(held_.size());
}

// Of lock_all, in the order of places: what is held is always all up to some place. In another order it and a rank that
// holds exclusive locks of two targets in ascending order could wait for each other.
Outcome Window::take_shared(int place) {
  for (int lower = held_until(); lower < place; ++lower) GRAPNEL_WINDOW_TRY(get_access(lower));
  GRAPNEL_WINDOW_TRY(settle_asked());
  GRAPNEL_WINDOW_TRY(locks_->acquire(0, part(place).rank, {.shared = true, .joins_readers = joins_readers()}, nullptr));
  count_lock(1);
  const StateLock lock(*this);
  GRAPNEL_ASSERT(held_.size() == static_cast<std::size_t>(place) || planted(Bug::used_before_granted),
                 "{} locks are held below target {}", held_.size(), place);
  target(place).holds_lock = target(place).is_shared = true;
  held_.push_back(place);
  return {};
}

// Takes the lock, where that needs no message, or a place in its queue.
Outcome Window::ask(int place, bool shared) {
  // First of all: a lock that is granted at once counts as well.
  GRAPNEL_WINDOW_TRY(settle_asked());
  const Rank home = part(place).rank;
  if (locks_->acquire_at_once(0, home, shared)) {
    set_access(place, Access::granted);
    return {};
  }
  auto started = locks_->start(0, home, {.shared = shared, .joins_readers = shared && joins_readers()});
  if (!started) return started.status();
  GRAPNEL_ASSERT(planted(Bug::two_places) || planted(Bug::used_before_granted) ||
                     services_.asked.of_this_thread().window == nullptr,
                 "target {}: this thread has another place in a queue", place);
  services_.asked.add({this, place, *std::move(started)});
  set_access(place, Access::asked);
  const bool loads_and_stores = place == my_place_ || flavor_ == Flavor::shared;
  return loads_and_stores ? get_access(place) : Outcome();
}

Outcome Window::lock(int place, bool shared, bool nocheck) {
  if (!nocheck && lock_at_once(place, shared)) return {};
  GRAPNEL_WINDOW_TRY(check_place("lock", place));
  if (options_.no_locks) return Outcome(Fault::synchronization, "lock: the window was made with no_locks");
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.lock(place, shared));
    needs_no_access_ = false;
    Target& one = target(place);
    one.access = nocheck ? Access::granted : Access::in_work;
    one.holds_lock = !nocheck;
    one.is_shared = shared;
  }
  if (nocheck) return {};
  Outcome asked = ask(place, shared);
  if (asked.ok()) {
    count_lock(1);
    return {};
  }
  const StateLock lock(*this);
  target(place) = {};
  GRAPNEL_WINDOW_TRY(epochs_.unlock(place));
  return asked;
}

// The lock is given back also where a write was refused.
Outcome Window::release(int place) {
  const Target was = target(place);
  if (!was.holds_lock) return {};
  GRAPNEL_ASSERT(planted(Bug::used_before_granted) ||
                     (was.access == Access::granted && (was.is_shared || locks_->is_held(0, part(place).rank))),
                 "the lock of target {}, with access {}, is not held", place, static_cast<int>(was.access));
  count_lock(-1);
  return was.is_shared ? locks_->release(0, part(place).rank, true, {}) : locks_->release(0, part(place).rank);
}

Outcome Window::unlock(int place) {
  GRAPNEL_WINDOW_TRY(check_place("unlock", place));
  bool is_granted = false;
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.unlock(place));
    near_.forbid(place);
    is_granted = may_go(place);
  }
  if (!is_granted) GRAPNEL_WINDOW_TRY(get_access(place));
  Outcome early = planted(Bug::released_before_fence) ? release(place) : Outcome();
  Outcome completed = complete_at(place, true);
  Outcome released = planted(Bug::released_before_fence) ? std::move(early) : release(place);
  const StateLock lock(*this);
  forget_used(place);
  target(place) = {};
  return completed.ok() ? std::move(released) : std::move(completed);
}

Outcome Window::lock_all(bool nocheck) {
  if (options_.no_locks) return Outcome(Fault::synchronization, "lock_all: the window was made with no_locks");
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.lock_all());
    needs_no_access_ = nocheck;
  }
  if (nocheck) return {};
  return get_access(flavor_ == Flavor::shared ? size() - 1 : my_place_);
}

Outcome Window::unlock_all() {
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.unlock_all());
    near_.forbid_all();
    needs_no_access_ = false;
  }
  Outcome first = complete_all(true);
  for (const int place : held_) {
    Outcome released = release(place);
    if (first.ok()) first = std::move(released);
  }
  const StateLock lock(*this);
  forget_all_used();
  for (const int place : std::exchange(held_, {})) target(place) = {};
  return first;
}

}  // namespace grapnel::window
