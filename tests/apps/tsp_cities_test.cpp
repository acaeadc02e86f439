// Cities, distances and tours.
// SPDX-License-Identifier: Apache-2.0
#include "cities.hpp"

#include <gtest/gtest.h>

namespace tsp {

TEST(TspCities, DistancesAreRoundedToTheNearestWholeNumber) {
  const Distances d = distances({{0, 0}, {1, 1}, {3, 4}, {0, 2.5}});
  EXPECT_EQ(d.count, 4U);
  EXPECT_EQ(d.between[0][1], 1);
  EXPECT_EQ(d.between[0][2], 5);
  EXPECT_EQ(d.between[2][0], 5);
  EXPECT_EQ(d.between[0][3], 3);
  EXPECT_EQ(d.shortest[2], 3);
}

TEST(TspCities, OthersAreSortedByDistance) {
  const Distances d = distances({{0, 0}, {9, 0}, {1, 0}, {4, 0}});
  EXPECT_EQ(d.nearest[0][0], 2);
  EXPECT_EQ(d.nearest[0][1], 3);
  EXPECT_EQ(d.nearest[0][2], 1);
  EXPECT_EQ(d.nearest[1][0], 3);
}

TEST(TspCities, ATourHasEachCityOnce) {
  const Distances d = distances({{0, 0}, {3, 0}, {3, 4}});
  const std::uint8_t good[] = {0, 2, 1};
  const std::uint8_t repeats[] = {0, 2, 2};
  const std::uint8_t outside[] = {0, 2, 3};
  EXPECT_TRUE(is_tour(d, good));
  EXPECT_EQ(length_of(d, good), 12);
  EXPECT_FALSE(is_tour(d, repeats));
  EXPECT_FALSE(is_tour(d, outside));
}

TEST(TspCities, ASeedGivesTheSameCities) {
  const auto first = generate(12, 7);
  const auto again = generate(12, 7);
  const auto other = generate(12, 8);
  ASSERT_EQ(first.size(), 12U);
  EXPECT_EQ(first[11].x, again[11].x);
  EXPECT_NE(first[11].x, other[11].x);
  EXPECT_LT(first[3].y, 1000);
}

}  // namespace tsp
