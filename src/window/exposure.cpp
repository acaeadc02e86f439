// Active target: fence; post, start, complete, wait.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "window/internal/services.hpp"
#include "window/internal/state_lock.hpp"
#include "window/window.hpp"

namespace grapnel::window {

// The group's barrier completes the writes at their targets; what else meets instead of it does not.
Outcome Window::fence(const FenceAssertions& assertions) {
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(epochs_.fence(assertions));
    needs_no_access_ = epochs_.epoch() == Epoch::fence;
  }
  const bool by_barrier = !options_.meet;
  Outcome completed = assertions.no_precede ? Outcome() : complete_all(!by_barrier);
  Outcome met = by_barrier ? services_.barriers.run(*group_) : options_.meet();
  const StateLock lock(*this);
  for (const int place : std::exchange(used_, {})) target(place).is_used = false;
  return completed.ok() ? std::move(met) : std::move(completed);
}

}  // namespace grapnel::window
