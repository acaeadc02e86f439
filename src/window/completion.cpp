// The four flushes, and what ends an epoch's operations.
//
// On the own node an operation is complete when its call returns; a fence of the processor orders it with what follows.
// Elsewhere: the operations that were started are waited for (their origin's memory is free), and then rma's fence
// (they are at the target).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <utility>

#include "base/check.hpp"
#include "window/internal/services.hpp"
#include "window/internal/state_lock.hpp"
#include "window/planted.hpp"
#include "window/window.hpp"

namespace grapnel::window {

// Under the window's mutex. Of targets elsewhere only: nothing is outstanding at the others.
void Window::note_used(int place) {
  Target& one = target(place);
  if (one.is_used || part(place).is_near) return;
  one.is_used = true;
  used_.push_back(place);
}

// Under the window's mutex.
void Window::forget_used(int place) {
  if (!std::exchange(target(place).is_used, false)) return;
  const auto found = std::find(used_.begin(), used_.end(), place);
  GRAPNEL_ASSERT(found != used_.end(), "target {} is not among the {} used ones", place, used_.size());
  used_.erase(found);
}

// Under the window's mutex.
void Window::forget_all_used() {
  for (const int place : std::exchange(used_, {})) target(place).is_used = false;
}

std::vector<int> Window::used() {
  const StateLock lock(*this);
  return used_;
}

Outcome Window::complete_at(int place, bool remotely) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Part& at = part(place);
  if (at.is_near) return {};
  Outcome first = finish_started(place);
  Outcome local = services_.rma.wait_implicit(at.rank);
  if (first.ok()) first = std::move(local);
  if (!remotely) return first;
  Outcome fenced = services_.rma.fence({&at.rank, 1});
  return first.ok() ? std::move(fenced) : std::move(first);
}

Outcome Window::complete_all(bool remotely) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::vector<int> places = used();
  if (places.empty()) return {};
  if (planted(Bug::forgotten_target)) places.pop_back();
  Outcome first = finish_started(-1);
  std::vector<Rank> ranks;
  for (const int place : places) {
    ranks.push_back(part(place).rank);
    Outcome local = services_.rma.wait_implicit(ranks.back());
    if (first.ok()) first = std::move(local);
  }
  if (!remotely) return first;
  Outcome fenced = services_.rma.fence(ranks);
  return first.ok() ? std::move(fenced) : std::move(first);
}

Outcome Window::flush_one(const char* call, int place, bool remotely) {
  if (near_.flush(place)) return {};
  GRAPNEL_WINDOW_TRY(check_place(call, place));
  bool waits = false;
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.passive(call, place));
    // A lock of lock_all that no operation has asked for has nothing to complete.
    waits = !may_go(place) && target(place).access != Access::none;
  }
  if (waits) GRAPNEL_WINDOW_TRY(get_access(place));
  return complete_at(place, remotely);
}

Outcome Window::flush_every(const char* call, bool remotely) {
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.passive(call));
  }
  for (const int place : services_.asked.targets_of(*this)) GRAPNEL_WINDOW_TRY(get_access(place));
  return complete_all(remotely);
}

Outcome Window::flush(int target) { return flush_one("flush", target, true); }
Outcome Window::flush_local(int target) { return flush_one("flush_local", target, false); }
Outcome Window::flush_all() { return flush_every("flush_all", true); }
Outcome Window::flush_local_all() { return flush_every("flush_local_all", false); }

Outcome Window::sync() {
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.passive("sync"));
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return {};
}

}  // namespace grapnel::window
