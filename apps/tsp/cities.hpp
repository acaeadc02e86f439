// Cities in the plane and the distances between them: whole numbers, as TSPLIB's EUC_2D rounds them, so that lengths of
// tours can be compared exactly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tsp {

/// A mask of cities has 32 bits.
constexpr std::size_t kMostCities = 32;
/// Of a coordinate: the length of every tour fits in 32 bits.
constexpr double kMostCoordinate = 1e7;

struct City {
  double x = 0;
  double y = 0;
};

/// `count` cities in a square of 1,000 by 1,000.
std::vector<City> generate(std::size_t count, std::uint64_t seed);

/// Plain data, for shared memory.
struct Distances {
  std::size_t count = 0;
  std::int32_t between[kMostCities][kMostCities] = {};
  /// By city: the shortest distance to another one; 0 where there is none.
  std::int32_t shortest[kMostCities] = {};
  /// By city: the others, by their distance.
  std::uint8_t nearest[kMostCities][kMostCities] = {};
};

Distances distances(const std::vector<City>& cities);

/// The length of a closed tour through `tour`, whose cities are below `count`.
std::int32_t length_of(const Distances& distances, const std::uint8_t* tour);

/// Whether `tour` has each city once.
bool is_tour(const Distances& distances, const std::uint8_t* tour);

}  // namespace tsp
