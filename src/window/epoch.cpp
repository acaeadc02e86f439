// SPDX-License-Identifier: Apache-2.0
#include "window/epoch.hpp"

#include <fmt/format.h>

#include "base/check.hpp"

namespace grapnel::window {

const char* to_string(Epoch epoch) {
  switch (epoch) {
    case Epoch::none: return "no epoch";
    case Epoch::fence: return "a fence epoch";
    case Epoch::start: return "an epoch of start";
    case Epoch::lock: return "a lock epoch";
    case Epoch::lock_all: return "an epoch of lock_all";
  }
  return "an unknown epoch";
}

Outcome EpochState::refuse(const char* call, const char* remedy) const {
  const char* const used = is_fence_used() ? " that was used" : "";
  const char* const exposed = exposed_ ? ", and its memory is exposed by post" : "";
  return Outcome(Fault::synchronization,
                 fmt::format("{}: the window is in {}{}{}; {}", call, to_string(epoch_), used, exposed, remedy));
}

Outcome EpochState::refuse_operation(const char* call, int target) const {
  if (epoch_ == Epoch::start || epoch_ == Epoch::lock) {
    const char* const missing = epoch_ == Epoch::start ? "is not in the group of start" : "is not locked";
    return Outcome(Fault::synchronization,
                   fmt::format("{}: the window is in {}, and target {} {}", call, to_string(epoch_), target, missing));
  }
  return refuse(call, "call fence, start, lock or lock_all first");
}

Outcome EpochState::passive(const char* call, int target) const {
  if (is_passive(target)) return {};
  if (epoch_ == Epoch::lock) return refuse_operation(call, target);
  return refuse(call, "it needs a lock epoch: call lock or lock_all first");
}

Outcome EpochState::passive(const char* call) const {
  if (epoch_ == Epoch::lock_all || epoch_ == Epoch::lock) return {};
  return refuse(call, "it needs a lock epoch: call lock or lock_all first");
}

Outcome EpochState::fence(const FenceAssertions& assertions) {
  if (exposed_) return refuse("fence", "call wait first");
  if (epoch_ != Epoch::none && epoch_ != Epoch::fence) return refuse("fence", "end that epoch first");
  GRAPNEL_ASSERT(has_no_targets(), "fence: {} locked targets, {} in the group of start", locked_, in_group_.size());
  epoch_ = assertions.no_succeed ? Epoch::none : Epoch::fence;
  fence_used_ = false;
  return {};
}

Outcome EpochState::start(std::span<const int> places) {
  if (!is_free()) return refuse("start", "end that epoch first");
  GRAPNEL_ASSERT(has_no_targets(), "start: {} locked targets, {} in the group of start", locked_, in_group_.size());
  epoch_ = Epoch::start;
  in_group_.assign(places.begin(), places.end());
  for (const int place : places) targets_[at(place)] = Target::in_group;
  return {};
}

Outcome EpochState::complete() {
  if (epoch_ != Epoch::start) return refuse("complete", "call start first");
  for (const int place : in_group_) targets_[at(place)] = Target::none;
  in_group_.clear();
  epoch_ = Epoch::none;
  return {};
}

Outcome EpochState::post() {
  if (exposed_) return refuse("post", "call wait first");
  exposed_ = true;
  return {};
}

Outcome EpochState::exposed(const char* call) const {
  if (exposed_) return {};
  return refuse(call, "call post first");
}

Outcome EpochState::end_exposure() {
  GRAPNEL_WINDOW_TRY(exposed("wait"));
  exposed_ = false;
  return {};
}

Outcome EpochState::lock(int target, bool shared) {
  if (is_locked(target)) {
    return Outcome(Fault::synchronization, fmt::format("lock: target {} is locked by this rank already", target));
  }
  if (!is_free() && epoch_ != Epoch::lock) return refuse("lock", "end that epoch first");
  GRAPNEL_ASSERT((epoch_ == Epoch::lock) == (locked_ > 0), "{} with {} locked targets", to_string(epoch_), locked_);
  GRAPNEL_ASSERT(!is_target(target), "target {} of an epoch that has ended", target);
  take_lock(target, shared);
  return {};
}

Outcome EpochState::unlock(int target) {
  if (epoch_ == Epoch::lock && !is_locked(target)) return refuse_operation("unlock", target);
  if (epoch_ != Epoch::lock) return refuse("unlock", "call lock first");
  GRAPNEL_ASSERT(locked_ > 0 && locked_ <= targets_.size(), "{} of {} targets are locked", locked_, targets_.size());
  leave_lock(target);
  return {};
}

Outcome EpochState::lock_all() {
  if (!is_free()) return refuse("lock_all", "end that epoch first");
  GRAPNEL_ASSERT(has_no_targets(), "lock_all: {} locked targets, {} in the group of start", locked_, in_group_.size());
  epoch_ = Epoch::lock_all;
  return {};
}

Outcome EpochState::unlock_all() {
  if (epoch_ != Epoch::lock_all) return refuse("unlock_all", "call lock_all first");
  epoch_ = Epoch::none;
  return {};
}

Outcome EpochState::free() const {
  if (is_free() && !exposed_) return {};
  return refuse("free", "end that epoch first");
}

}  // namespace grapnel::window
