// What a rank predicts of its pages: that one does what it did before, and that some are used together.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "dsm/page_predictor.hpp"
#include "dsm/used_together.hpp"

namespace grapnel::dsm {
namespace {

std::uint32_t predicted(PagePredictor& pages, std::size_t page) {
  std::uint32_t count = 0;
  while (pages.predicts(page)) ++count;
  return count;
}

TEST(PagePredictor, PredictsWhatWasSeenOften) {
  PagePredictor pages;
  for (std::uint32_t i = 1; i < PagePredictor::kTimes; ++i) {
    pages.seen(3, true);
    EXPECT_EQ(predicted(pages, 3), 0U);
  }
  pages.seen(3, true);
  EXPECT_EQ(predicted(pages, 4), 0U) << "another page";
  EXPECT_EQ(predicted(pages, 3), PagePredictor::kPredicted);
}

TEST(PagePredictor, TheFirstLookAfterPredictionsDecidesNothing) {
  PagePredictor pages;
  for (std::uint32_t i = 0; i < PagePredictor::kTimes; ++i) pages.seen(3, true);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(predicted(pages, 3), PagePredictor::kPredicted);
    pages.seen(3, true);
    EXPECT_EQ(predicted(pages, 3), 0U);
    pages.seen(3, true);
  }
}

TEST(PagePredictor, OneLookThatShowsOtherwiseEndsIt) {
  PagePredictor pages;
  for (std::uint32_t i = 0; i < PagePredictor::kTimes; ++i) pages.seen(3, true);
  pages.seen(3, false);
  EXPECT_EQ(predicted(pages, 3), 0U);
  for (std::uint32_t i = 1; i < PagePredictor::kTimes; ++i) pages.seen(3, true);
  EXPECT_EQ(predicted(pages, 3), 0U);
}

std::vector<std::size_t> used_with(const UsedTogether& used, std::size_t page, std::size_t most = 100) {
  std::vector<std::size_t> pages;
  used.for_each_with(page, [&](std::size_t other) {
    if (pages.size() == most) return false;
    pages.push_back(other);
    return true;
  });
  return pages;
}

TEST(UsedTogether, KnowsWhatCameAfterAPageAndThenWhatCameBefore) {
  UsedTogether used;
  for (const std::size_t page : {7, 5, 9, 5, 2}) used.add(page);
  EXPECT_EQ(used_with(used, 5), (std::vector<std::size_t>{9, 2, 7}));
  EXPECT_EQ(used_with(used, 5, 1), (std::vector<std::size_t>{9}));
  EXPECT_TRUE(used_with(used, 8).empty());
}

TEST(UsedTogether, APageCountsForTheLastIntervalThatUsedIt) {
  UsedTogether used;
  used.begin_interval();  // nothing was used: the interval goes on
  used.add(1), used.add(2);
  used.begin_interval();
  used.add(2), used.add(3);
  EXPECT_EQ(used_with(used, 2), (std::vector<std::size_t>{3}));
  EXPECT_EQ(used_with(used, 1), (std::vector<std::size_t>{2}));
}

TEST(UsedTogether, ForgetsAllButTheLastIntervals) {
  UsedTogether used;
  used.add(1), used.add(2);
  for (std::size_t i = 0; i < UsedTogether::kRemembered; ++i) {
    EXPECT_EQ(used_with(used, 1), (std::vector<std::size_t>{2})) << i;
    used.begin_interval();
    used.add(100 + i), used.add(200 + i);
  }
  EXPECT_TRUE(used_with(used, 1).empty());
  EXPECT_EQ(used_with(used, 101), (std::vector<std::size_t>{201}));
}

}  // namespace
}  // namespace grapnel::dsm
