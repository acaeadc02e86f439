// What keeps the permits, contiguous copies, and the locks of targets of this rank's node that are free.
// SPDX-License-Identifier: Apache-2.0
#include "window/near.hpp"

#include "window/internal/services.hpp"
#include "window/layout.hpp"
#include "window/window.hpp"

namespace grapnel::window {

void NearTargets::open(const std::vector<Part>& parts, bool is_dynamic) {
  targets_ = std::vector<Target>(parts.size());
  for (std::size_t place = 0; place < parts.size(); ++place) {
    Target& one = targets_[place];
    one.is_near = parts[place].is_near;
    one.is_lent = parts[place].is_lent;
    one.rank = parts[place].rank;
    one.unit = parts[place].unit;
    if (is_dynamic) continue;
    one.base = parts[place].base;
    one.bytes = parts[place].bytes;
  }
}

void NearTargets::forbid_all() {
  std::uint32_t next = period() + 2;
  if (next == 0) {
    for (Target& one : targets_) one.permit.store(0, std::memory_order_relaxed);
    next = kFirst;
  }
  period_.store(next, std::memory_order_relaxed);
}

bool Window::move_near(rma::OperationKind kind, const Side& origin, int target, const TargetSide& target_side) const {
  const auto local = origin.layout->contiguous(origin.count),
             remote = target_side.layout->contiguous(target_side.count);
  if (!local || !remote || remote->offset != 0) return false;
  std::byte* const here = static_cast<std::byte*>(origin.base) + local->offset;
  return kind == rma::OperationKind::put ? near_.put(target, target_side.displacement, here, local->bytes)
                                         : near_.get(target, target_side.displacement, here, local->bytes);
}

// As Window::lock does it, where nothing is asked for and nothing waited for.

bool Window::lock_at_once(int place, bool shared) {
  if (options_.many_threads || locks_ == nullptr || !near_.is_near(place)) return false;
  if (!epochs_.may_lock(place) || !services_.asked.is_empty()) return false;
  if (!locks_->acquire_at_once(0, part(place).rank, shared)) return false;
  count_lock(1);
  epochs_.take_lock(place, shared);
  needs_no_access_ = false;
  target(place) = {Access::granted, true, shared, false};
  near_.permit(place, true);
  return true;
}

}  // namespace grapnel::window
