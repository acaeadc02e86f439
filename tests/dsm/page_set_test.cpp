// A set of pages against std::set: what is in it, in order and as runs.
// SPDX-License-Identifier: Apache-2.0
#include "dsm/page_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace grapnel::dsm {
namespace {

void expect_same(const PageSet& pages, const std::set<std::size_t>& expected) {
  const std::vector<std::size_t> numbers(expected.begin(), expected.end());
  EXPECT_EQ(pages.pages(), numbers);
  const std::vector<os::Pages> found = pages.runs(), runs = runs_of(numbers);
  ASSERT_EQ(found.size(), runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(found[i].first, runs[i].first);
    EXPECT_EQ(found[i].count, runs[i].count);
  }
}

TEST(PageSet, IsASetOfPages) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const std::size_t count = 1 + random() % 20'000;
    PageSet pages(count);
    std::set<std::size_t> expected;
    for (int step = 0; step < 300; ++step) {
      const std::size_t first = random() % count, end = std::min<std::size_t>(count, first + random() % 200);
      const bool adds = random() % 2 == 0;
      for (std::size_t page = first; page < end; ++page) {
        if (adds) pages.add(page), expected.insert(page);
        if (!adds) pages.remove(page), expected.erase(page);
      }
      EXPECT_EQ(pages.has(first), expected.count(first) == 1);
      if (random() % 100 == 0) pages.clear(), expected.clear();
      if (step % 10 == 0) expect_same(pages, expected);
    }
  }
}

}  // namespace
}  // namespace grapnel::dsm
