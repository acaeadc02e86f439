// Post, start, complete and wait, in every world.
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "window/opened.hpp"

namespace grapnel::test {
namespace {

std::vector<int> around(const Runtime& g, int by) {
  const int size = g.size(), place = (me(g) + by % size + size) % size;
  return {place};
}

}  // namespace

WORLD_TEST(Exposure, ARingOfPosts) {
  const auto window = allocate_words(g, 16);
  ASSERT_NE(window, nullptr);
  const auto next = around(g, 1), before = around(g, -1);
  for (std::int64_t round = 1; round <= 8; ++round) {
    const std::int64_t value = 100 * round + me(g);
    ASSERT_DONE(window->post(before));
    ASSERT_DONE(window->start(next));
    ASSERT_DONE(window->put(side_of(&value), next[0], target_at(2)));
    ASSERT_DONE(window->accumulate(side_of(&value), next[0], target_at(3), Operation::sum));
    ASSERT_DONE(window->complete());
    if (round % 2 == 0) {
      ASSERT_DONE(window->wait());
    } else {
      for (bool done = false; !done;) {
        ASSERT_DONE(window->test_wait(done));
        if (!done) g.implementation().core->host.yield();
      }
    }
    EXPECT_EQ(word_of(*window, me(g), 2), 100 * round + before[0]);
    EXPECT_EQ(word_of(*window, me(g), 3), 50 * round * (round + 1) + round * before[0]);
  }
  EXPECT_OK(g.barrier());
  EXPECT_DONE(windows_of(g).free(*window));
}

// Every rank writes to every other one, and computes its own sum in between.
WORLD_TEST(Exposure, AllToAll) {
  const auto window = allocate_words(g, static_cast<std::size_t>(g.size()));
  ASSERT_NE(window, nullptr);
  std::vector<int> all;
  for (int place = 0; place < g.size(); ++place) all.push_back(place);
  for (std::int64_t round = 1; round <= 5; ++round) {
    const std::int64_t value = round * (me(g) + 1);
    ASSERT_DONE(window->post(all));
    ASSERT_DONE(window->start(all));
    for (const int place : all) ASSERT_DONE(window->put(side_of(&value), place, target_at(me(g))));
    ASSERT_DONE(window->complete());
    ASSERT_DONE(window->wait());
    for (const int place : all) {
      EXPECT_EQ(word_of(*window, me(g), static_cast<std::size_t>(place)), round * (place + 1));
    }
  }
  EXPECT_DONE(windows_of(g).free(*window));
}

// An origin that starts twice before its target has posted twice waits for the second post; epochs without operations
// count as well.
WORLD_TEST_ON(Exposure, EpochsDoNotMix, shapes_from(2)) {
  const auto window = allocate_words(g, 4);
  ASSERT_NE(window, nullptr);
  const int rounds = 6;
  if (me(g) == 0) {
    std::vector<int> others;
    for (int place = 1; place < g.size(); ++place) others.push_back(place);
    for (std::int64_t round = 1; round <= rounds; ++round) {
      word_of(*window, 0, 0) = round;
      ASSERT_DONE(window->post(others));
      ASSERT_DONE(window->wait());
      EXPECT_EQ(word_of(*window, 0, 1), round % 2 == 0 ? round * (g.size() - 1) : 0);
      word_of(*window, 0, 1) = 0;
    }
  } else {
    const std::vector<int> target{0};
    for (std::int64_t round = 1; round <= rounds; ++round) {
      ASSERT_DONE(window->start(target));
      std::int64_t seen = -1;
      if (round % 2 == 0) {
        ASSERT_DONE(window->get(side_of(&seen), 0, target_at(0)));
        ASSERT_DONE(window->accumulate(side_of(&round), 0, target_at(1), Operation::sum));
      }
      ASSERT_DONE(window->complete());
      EXPECT_EQ(seen, round % 2 == 0 ? round : -1);
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_DONE(windows_of(g).free(*window));
}

}  // namespace grapnel::test
