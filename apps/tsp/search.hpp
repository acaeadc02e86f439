// Partial tours, their lower bound, and the depth-first search below one. Used by the sequential and the shared run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "cities.hpp"

namespace tsp {

/// A path from city 0. Plain data, for shared memory.
struct PartialTour {
  std::int32_t length = 0;
  /// The least that edges to come add: each city that is yet to be left is left by an edge at least as long as its
  /// shortest.
  std::int32_t rest = 0;
  std::uint32_t visited = 1;
  std::uint8_t cities = 1;
  std::uint8_t tour[kMostCities] = {};

  std::int32_t bound() const { return length + rest; }
  std::uint8_t last() const { return tour[cities - 1]; }
  bool has(std::size_t city) const { return (visited >> city & 1) != 0; }
};

/// City 0 alone.
PartialTour root(const Distances& distances);

/// `tour` and one more city.
PartialTour extend(const Distances& distances, const PartialTour& tour, std::uint8_t city);

/// Of a tour with all cities: the length when it is closed.
std::int32_t closed_length(const Distances& distances, const PartialTour& tour);

/// The complete tour that goes on to the nearest city each time.
PartialTour greedy(const Distances& distances);

/// Is called with a complete tour that is shorter than the limit; returns the new limit, at most its length.
using Found = std::function<std::int32_t(const PartialTour& tour, std::int32_t length)>;

/// Searches all continuations of `start`, except those that cannot be shorter than the limit.
void search(const Distances& distances, const PartialTour& start, std::int32_t limit, const Found& found);

/// The sequential run. `seconds` gets its time.
std::int32_t sequential(const Distances& distances, double& seconds);

}  // namespace tsp
