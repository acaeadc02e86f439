// Bugs that a test plants, to see that the tests of windows find them. In every other build `planted` is a constant,
// and its branches are gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::window {

enum class Bug {
  none,
  forgotten_target,       ///< a flush of all targets leaves one out
  released_before_fence,  ///< unlock gives the lock back before the writes are complete
  two_places,             ///< a lock is asked for while another one is not granted yet
  used_before_granted     ///< an operation does not wait for its lock
};

#ifdef GRAPNEL_WINDOW_PLANTED
extern Bug planted_bug;
inline bool planted(Bug bug) { return planted_bug == bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace grapnel::window
