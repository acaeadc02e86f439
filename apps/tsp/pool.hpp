// The partial tours that wait to be searched: a priority queue in shared memory, the lowest bound first.
//
// The caller holds the queue's lock. A tour is split and its parts are put back in one critical section, so a pool that
// is found empty stays empty.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "search.hpp"

namespace tsp {

/// Plain data, for shared memory.
struct Pool {
  static constexpr std::size_t kCapacity = 4096;
  std::size_t count = 0;
  PartialTour tours[kCapacity];
};

void put(Pool& pool, const PartialTour& tour);

/// The next tour to search. Tours of fewer than `depth` cities are split as long as there is room for the parts; those
/// that cannot be shorter than `limit` are dropped. Nothing: the pool is empty.
std::optional<PartialTour> take(Pool& pool, const Distances& distances, std::size_t depth, std::int32_t limit);

}  // namespace tsp
