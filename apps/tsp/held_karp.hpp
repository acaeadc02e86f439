// The optimum by dynamic programming, to verify branch and bound.
// Source: M. Held, R. M. Karp, "A Dynamic Programming Approach to Sequencing Problems", 1962.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cities.hpp"

namespace tsp {

/// Memory grows as count · 2^count: 2 MiB here.
constexpr std::size_t kMostForHeldKarp = 16;

/// The length of the shortest tour of at most kMostForHeldKarp cities.
std::int32_t held_karp(const Distances& distances);

}  // namespace tsp
