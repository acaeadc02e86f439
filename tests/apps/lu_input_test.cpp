// The generated matrix, and the condition on a file's.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "input.hpp"

namespace lu {
namespace {

TEST(GeneratedMatrix, IsStrictlyDominantByColumnsForEverySeed) {
  for (const std::uint64_t seed : {0, 1, 2, 77}) {
    for (const std::int64_t n : {1, 2, 3, 100}) {
      const Input input = Input::generated(n, seed);
      for (std::int64_t j = 0; j < n; ++j) {
        double others = 0;
        for (std::int64_t i = 0; i < n; ++i) others += i == j ? 0 : std::abs(input.element(i, j));
        EXPECT_GT(std::abs(input.element(j, j)), others);
      }
    }
  }
}

TEST(GeneratedMatrix, BlocksAgreeWithTheWhole) {
  const Input input = Input::generated(20, 5);
  const std::vector<double> all = input.dense();
  std::vector<double> block(6);
  input.fill(7, 11, {block.data(), 3, 2});
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(block[i + 3 * j], all[(7 + i) + (11 + j) * 20]);
  }
}

TEST(GeneratedMatrix, DependsOnSeedRowAndColumn) {
  std::set<double> values;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (std::uint64_t i = 0; i < 16; ++i) {
      for (std::uint64_t j = 0; j < 16; ++j) {
        const double value = random_number(seed, i, j);
        EXPECT_GE(value, -1);
        EXPECT_LT(value, 1);
        values.insert(value);
      }
    }
  }
  EXPECT_EQ(values.size(), 4u * 16 * 16);
}

TEST(NeedsPivoting, AcceptsColumnDominanceOnly) {
  EXPECT_FALSE(needs_pivoting({2, {{0, 0, 3}, {1, 0, -2}, {0, 1, 1}, {1, 1, -2}}}));
  // Dominant by rows, not by columns: LAPACK would swap.
  EXPECT_TRUE(needs_pivoting({2, {{0, 0, 3}, {1, 0, 4}, {0, 1, 1}, {1, 1, 5}}}));
}

TEST(NeedsPivoting, NamesTheWorstColumnAndWhatItLacks) {
  const auto why = needs_pivoting({3, {{0, 0, 2}, {2, 0, 2.5}, {1, 1, 1}, {0, 1, -3}, {2, 2, 9}}});
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("2 of 3 columns"), std::string::npos) << *why;
  EXPECT_NE(why->find("column 2: |diagonal| = 1, the others sum to 3, it lacks 2"), std::string::npos) << *why;
}

TEST(NeedsPivoting, RefusesTiesAndEmptyColumns) {
  EXPECT_TRUE(needs_pivoting({2, {{0, 0, 1}, {1, 0, 1}, {1, 1, 5}}}));
  EXPECT_TRUE(needs_pivoting({2, {{0, 0, 1}}}));
  EXPECT_TRUE(needs_pivoting({1, {{0, 0, 0}}}));
}

}  // namespace
}  // namespace lu
