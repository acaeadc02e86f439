// Bugs that a test plants, to see that the tests of updates find them. In every other build `planted` is a constant,
// and its branches are gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::rma {

enum class Bug {
  none,
  fetch_from_the_middle,  ///< a fetching update goes on where it stopped, and fetches what it has updated itself
  torn_pair               ///< a pair that lies in two stripes is replaced as two numbers
};

#ifdef GRAPNEL_RMA_PLANTED
extern Bug planted_bug;
inline bool planted(Bug bug) { return planted_bug == bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace grapnel::rma
