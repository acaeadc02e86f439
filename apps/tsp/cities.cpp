// Distances are computed once, by one process.
// SPDX-License-Identifier: Apache-2.0
#include "cities.hpp"

#include <algorithm>
#include <cmath>

#include "common/random.hpp"

namespace tsp {

namespace {

/// TSPLIB's EUC_2D.
std::int32_t distance(const City& from, const City& to) {
  const double dx = from.x - to.x;
  const double dy = from.y - to.y;
  return static_cast<std::int32_t>(std::lround(std::sqrt(dx * dx + dy * dy)));
}

void sort_others(Distances& distances, std::size_t city) {
  std::uint8_t* const others = distances.nearest[city];
  std::size_t filled = 0;
  for (std::size_t other = 0; other < distances.count; ++other) {
    if (other != city) others[filled++] = static_cast<std::uint8_t>(other);
  }
  const std::int32_t* const from = distances.between[city];
  std::stable_sort(others, others + filled, [from](std::uint8_t a, std::uint8_t b) { return from[a] < from[b]; });
  distances.shortest[city] = filled == 0 ? 0 : from[others[0]];
}

}  // namespace

std::vector<City> generate(std::size_t count, std::uint64_t seed) {
  std::vector<City> cities(count);
  for (std::size_t i = 0; i < count; ++i) {
    cities[i] = {std::floor(1000 * app::random_unit(seed, 2 * i)),
                 std::floor(1000 * app::random_unit(seed, 2 * i + 1))};
  }
  return cities;
}

Distances distances(const std::vector<City>& cities) {
  Distances result;
  result.count = cities.size();
  for (std::size_t i = 0; i < result.count; ++i) {
    for (std::size_t j = 0; j < result.count; ++j) result.between[i][j] = distance(cities[i], cities[j]);
  }
  for (std::size_t i = 0; i < result.count; ++i) sort_others(result, i);
  return result;
}

std::int32_t length_of(const Distances& distances, const std::uint8_t* tour) {
  std::int32_t length = 0;
  for (std::size_t i = 0; i < distances.count; ++i) {
    length += distances.between[tour[i]][tour[(i + 1) % distances.count]];
  }
  return length;
}

bool is_tour(const Distances& distances, const std::uint8_t* tour) {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < distances.count; ++i) {
    if (tour[i] >= distances.count) return false;
    seen |= std::uint64_t{1} << tour[i];
  }
  return seen == (std::uint64_t{1} << distances.count) - 1;
}

}  // namespace tsp
