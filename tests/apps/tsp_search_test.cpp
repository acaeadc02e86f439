// Branch and bound, its queue, and dynamic programming against all permutations.
// SPDX-License-Identifier: Apache-2.0
#include "search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "held_karp.hpp"
#include "pool.hpp"

namespace tsp {

namespace {

std::int32_t by_all_permutations(const Distances& d) {
  std::vector<std::uint8_t> tour(d.count);
  std::iota(tour.begin(), tour.end(), std::uint8_t{0});
  std::int32_t best = length_of(d, tour.data());
  while (std::next_permutation(tour.begin() + 1, tour.end())) best = std::min(best, length_of(d, tour.data()));
  return best;
}

/// The shared run's loop, by one process.
std::int32_t by_pool(const Distances& d, std::size_t depth) {
  const auto pool = std::make_unique<Pool>();
  put(*pool, root(d));
  std::int32_t best = closed_length(d, greedy(d));
  const Found found = [&](const PartialTour& tour, std::int32_t length) {
    EXPECT_TRUE(is_tour(d, tour.tour));
    EXPECT_EQ(length_of(d, tour.tour), length);
    EXPECT_LT(length, best);
    return best = length;
  };
  while (const auto tour = take(*pool, d, depth, best)) search(d, *tour, best, found);
  return best;
}

}  // namespace

TEST(TspSearch, AllWaysAgree) {
  for (std::size_t count = 2; count <= 8; ++count) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Distances d = distances(generate(count, seed));
      const std::int32_t expected = by_all_permutations(d);
      double seconds = 0;
      EXPECT_EQ(held_karp(d), expected) << count << " cities, seed " << seed;
      EXPECT_EQ(sequential(d, seconds), expected) << count << " cities, seed " << seed;
      for (const std::size_t depth : {1, 3, 8}) EXPECT_EQ(by_pool(d, depth), expected) << "depth " << depth;
    }
  }
}

TEST(TspSearch, CitiesAtOnePlace) {
  const Distances d = distances(std::vector<City>(9, City{5, 5}));
  EXPECT_EQ(held_karp(d), 0);
  EXPECT_EQ(by_pool(d, 4), 0);
}

TEST(TspSearch, TheBoundIsNeverAboveTheLength) {
  const Distances d = distances(generate(9, 4));
  PartialTour tour = root(d);
  for (std::uint8_t city = 1; city < 9; ++city) {
    tour = extend(d, tour, city);
    EXPECT_LE(tour.bound(), length_of(d, std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}.data()));
  }
  EXPECT_EQ(closed_length(d, tour), length_of(d, tour.tour));
}

TEST(TspSearch, AFullPoolGivesToursThatAreNotSplit) {
  const Distances d = distances(generate(20, 5));
  const auto pool = std::make_unique<Pool>();
  pool->count = Pool::kCapacity - kMostCities + 1;
  put(*pool, root(d));
  const auto tour = take(*pool, d, 4, 1'000'000);
  ASSERT_TRUE(tour.has_value());
  EXPECT_EQ(pool->count, Pool::kCapacity - kMostCities + 1);
}

}  // namespace tsp
