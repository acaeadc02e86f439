// A binary heap of the standard library, over an array in shared memory.
// SPDX-License-Identifier: Apache-2.0
#include "pool.hpp"

#include <algorithm>

namespace tsp {

namespace {

/// Of equal bounds the longer tour comes first: it is nearer to its end.
bool later(const PartialTour& a, const PartialTour& b) {
  return a.bound() != b.bound() ? a.bound() > b.bound() : a.cities < b.cities;
}

void split(Pool& pool, const Distances& distances, const PartialTour& tour, std::int32_t limit) {
  for (std::uint8_t city = 1; city < distances.count; ++city) {
    if (tour.has(city)) continue;
    const PartialTour longer = extend(distances, tour, city);
    if (longer.bound() < limit) put(pool, longer);
  }
}

}  // namespace

void put(Pool& pool, const PartialTour& tour) {
  pool.tours[pool.count++] = tour;
  std::push_heap(pool.tours, pool.tours + pool.count, later);
}

std::optional<PartialTour> take(Pool& pool, const Distances& distances, std::size_t depth, std::int32_t limit) {
  while (pool.count > 0) {
    std::pop_heap(pool.tours, pool.tours + pool.count, later);
    const PartialTour tour = pool.tours[--pool.count];
    // All others have at least this bound.
    if (tour.bound() >= limit) {
      pool.count = 0;
      break;
    }
    const bool room = pool.count + kMostCities <= Pool::kCapacity;
    if (tour.cities >= std::min(depth, distances.count) || !room) return tour;
    split(pool, distances, tour, limit);
  }
  return std::nullopt;
}

}  // namespace tsp
