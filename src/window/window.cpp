// What a window consists of, and which locks its rank has asked for.
// SPDX-License-Identifier: Apache-2.0
#include "window/window.hpp"

#include <algorithm>
#include <utility>

#include "window/internal/services.hpp"
#include "window/internal/state_lock.hpp"

namespace grapnel::window {

Window::Window(Services& services, std::shared_ptr<const launch::Group> group, Flavor flavor, const Options& options)
    : services_(services),
      group_(std::move(group)),
      flavor_(flavor),
      options_(options),
      epochs_(group_->size()),
      near_(services.near),
      targets_(group_->size()) {}

Window::~Window() = default;

Outcome Window::may_be_freed() {
  const StateLock lock(*this);
  return epochs_.free();
}

void AskedLocks::add(AskedLock asked) {
  asked.thread = std::this_thread::get_id();
  const base::MutexLock lock(mutex_);
  asked_.push_back(std::move(asked));
  count_.store(asked_.size(), std::memory_order_relaxed);
}

AskedLock AskedLocks::take(const Window& window, int target) {
  const base::MutexLock lock(mutex_);
  const auto found = std::find_if(asked_.begin(), asked_.end(),
                                  [&](const AskedLock& one) { return one.window == &window && one.target == target; });
  if (found == asked_.end()) return {};
  AskedLock taken = std::move(*found);
  asked_.erase(found);
  count_.store(asked_.size(), std::memory_order_relaxed);
  return taken;
}

AskedLock AskedLocks::of_this_thread() const {
  if (is_empty()) return {};
  const base::MutexLock lock(mutex_);
  const auto found = std::find_if(asked_.begin(), asked_.end(),
                                  [](const AskedLock& one) { return one.thread == std::this_thread::get_id(); });
  return found == asked_.end() ? AskedLock() : *found;
}

std::vector<int> AskedLocks::targets_of(const Window& window) const {
  std::vector<int> targets;
  if (is_empty()) return targets;
  const base::MutexLock lock(mutex_);
  for (const AskedLock& one : asked_) {
    if (one.window == &window) targets.push_back(one.target);
  }
  return targets;
}

}  // namespace grapnel::window
