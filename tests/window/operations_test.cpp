// Operations in lock epochs and between fences, in every world.
// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <set>

#include "window/opened.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kWords = 64;

int next_of(const Runtime& g) { return (me(g) + 1) % g.size(); }

}  // namespace

WORLD_TEST(Windows, AnExclusiveLockMakesACounter) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  constexpr std::int64_t kEach = 10;
  for (int i = 0; i < kEach; ++i) {
    const int target = i % g.size();
    std::int64_t count = -1;
    ASSERT_DONE(window->lock(target, false));
    ASSERT_DONE(window->get(side_of(&count), target, target_at(3)));
    ASSERT_DONE(window->flush(target));
    ++count;
    ASSERT_DONE(window->put(side_of(&count), target, target_at(3)));
    ASSERT_DONE(window->unlock(target));
  }
  EXPECT_OK(g.barrier());
  std::int64_t total = 0;
  ASSERT_DONE(window->lock_all());
  std::vector<std::int64_t> counts(static_cast<std::size_t>(g.size()), -1);
  for (int target = 0; target < g.size(); ++target) {
    ASSERT_DONE(window->get(side_of(&counts[static_cast<std::size_t>(target)]), target, target_at(3)));
  }
  ASSERT_DONE(window->flush_local_all());
  for (const std::int64_t count : counts) total += count;
  ASSERT_DONE(window->unlock_all());
  EXPECT_EQ(total, kEach * g.size());
  EXPECT_DONE(windows_of(g).free(*window));
}

WORLD_TEST(Windows, FetchAndOpGivesEveryTicketOnce) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  constexpr int kEach = 12;
  const std::int64_t one = 1;
  std::int64_t sum = 0;
  ASSERT_DONE(window->lock_all());
  for (int i = 0; i < kEach; ++i) {
    std::int64_t ticket = -1;
    ASSERT_DONE(window->fetch_and_op(&one, &ticket, NumberType::int64, 0, 5, Operation::sum));
    ASSERT_DONE(window->flush(0));
    sum += ticket;
  }
  ASSERT_DONE(window->unlock_all());
  std::int64_t all = 0;
  EXPECT_OK(g.allreduce(*reduction(Operation::sum, NumberType::int64), &sum, &all, 1));
  const std::int64_t count = kEach * g.size();
  EXPECT_EQ(all, count * (count - 1) / 2);
  EXPECT_DONE(windows_of(g).free(*window));
}

// A lock made of compare-and-swap, in each width.
WORLD_TEST(Windows, CompareAndSwapCounts) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  ASSERT_DONE(window->lock_all());
  for (const std::size_t bytes : {1, 2, 4, 8}) {
    for (int done = 0; done < 4;) {
      std::uint64_t seen = 0, found = 0;
      ASSERT_DONE(window->compare_and_swap(&seen, &seen, &seen, bytes, 0, static_cast<std::int64_t>(bytes)));
      ASSERT_DONE(window->flush_local(0));
      const std::uint64_t wanted = seen + 1;
      ASSERT_DONE(window->compare_and_swap(&wanted, &seen, &found, bytes, 0, static_cast<std::int64_t>(bytes)));
      ASSERT_DONE(window->flush_local(0));
      if (found == seen) ++done;
    }
  }
  ASSERT_DONE(window->unlock_all());
  EXPECT_OK(g.barrier());
  ASSERT_DONE(window->lock(0, true));
  for (const std::size_t bytes : {1, 2, 4, 8}) {
    std::int64_t total = 0;
    ASSERT_DONE(window->get(side_of(&total), 0, target_at(static_cast<std::int64_t>(bytes))));
    ASSERT_DONE(window->flush_local(0));
    EXPECT_EQ(total, 4 * g.size());
  }
  ASSERT_DONE(window->unlock(0));
  EXPECT_DONE(windows_of(g).free(*window));
}

WORLD_TEST(Windows, FencesSeparateWritesFromReads) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  const int target = next_of(g), mine = me(g);
  ASSERT_DONE(window->fence({.no_precede = true}));
  for (std::int64_t round = 1; round <= 5; ++round) {
    const std::int64_t value = 1000 * round + mine;
    ASSERT_DONE(window->put(side_of(&value), target, target_at(7)));
    ASSERT_DONE(window->accumulate(side_of(&value), 0, target_at(8), Operation::sum));
    ASSERT_DONE(window->fence());
    EXPECT_EQ(word_of(*window, mine, 7), 1000 * round + (mine + g.size() - 1) % g.size());
    std::int64_t back = -1;
    ASSERT_DONE(window->get(side_of(&back), target, target_at(7)));
    ASSERT_DONE(window->fence());
    EXPECT_EQ(back, value);
  }
  ASSERT_DONE(window->fence({.no_succeed = true}));
  if (mine == 0) {
    const std::int64_t n = g.size();
    EXPECT_EQ(word_of(*window, 0, 8), 15000 * n + 5 * (n * (n - 1) / 2));
  }
  EXPECT_DONE(windows_of(g).free(*window));
}

// Both sides scattered in different ways: every third word of the target from every second of the origin, and the same
// as a list.
WORLD_TEST(Windows, LayoutsOfBothSidesAreWalkedTogether) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  const auto by_two = Layout::repeat(int64s(), 8, 16), by_three = Layout::repeat(int64s(), 8, 24);
  const auto list = Layout::sequence({{0, int64s()},
                                      {16, int64s()},
                                      {24, Layout::repeat(int64s(), 2, 8)},
                                      {64, int64s()},
                                      {88, int64s()},
                                      {104, Layout::repeat(int64s(), 2, 8)}});
  const int target = next_of(g);
  std::vector<std::int64_t> from(kWords), back(kWords);
  std::iota(from.begin(), from.end(), 100 * me(g));
  for (const auto& [origin, place] : {std::pair{by_two, by_three},
                                      {by_three, list},
                                      {list, by_two},
                                      {int64s(), list},
                                      {list, int64s()},
                                      {list, list}}) {
    const std::int64_t origins = origin == int64s() ? 8 : 1, places = place == int64s() ? 8 : 1;
    std::fill(back.begin(), back.end(), -1);
    ASSERT_DONE(window->lock(target, false));
    ASSERT_DONE(window->put(side_of(from.data(), origins, origin), target, target_at(0, places, place)));
    ASSERT_DONE(window->flush(target));
    ASSERT_DONE(window->get(side_of(back.data(), origins, origin), target, target_at(0, places, place)));
    ASSERT_DONE(
        window->accumulate(side_of(from.data(), origins, origin), target, target_at(0, places, place), Operation::sum));
    ASSERT_DONE(window->unlock(target));
    std::vector<std::int64_t> sums(8), old(kWords, -1);
    ASSERT_DONE(window->lock(target, true));
    ASSERT_DONE(window->get(side_of(sums.data(), 8), target, target_at(0, places, place)));
    ASSERT_DONE(window->get_accumulate({}, side_of(old.data(), origins, origin), target, target_at(0, places, place),
                                       Operation::none));
    ASSERT_DONE(window->unlock(target));
    std::size_t element = 0;
    for (window::Cursor cursor(*origin, origins); !cursor.at_end(); cursor.advance(8)) {
      const auto word = static_cast<std::size_t>(cursor.run().offset) / 8;
      EXPECT_EQ(back[word], from[word]) << word;
      EXPECT_EQ(old[word], 2 * from[word]) << word;
      EXPECT_EQ(sums[element++], 2 * from[word]) << word;
    }
    EXPECT_EQ(std::count(back.begin(), back.end(), -1), static_cast<std::ptrdiff_t>(kWords) - 8);
    EXPECT_OK(g.barrier());
  }
  EXPECT_DONE(windows_of(g).free(*window));
}

// Of a pair of an int16 and its place only the members are written in the target.
WORLD_TEST(Windows, WhatLiesBetweenTheMembersOfAPairStays) {
  struct Pair {
    std::int16_t value, between;
    std::int32_t place;
  };
  const auto pairs = Layout::element(NumberType::int16_with_place);
  const auto apart = Layout::repeat(pairs, 2, 16);
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  const int mine = me(g), target = next_of(g);
  for (std::size_t i = 0; i < 4; ++i) reinterpret_cast<Pair*>(window->base_of(mine))[i] = {5, 77, 50};
  EXPECT_OK(g.barrier());
  const Pair offer[4] = {{9, 1, 2}, {9, 1, 2}, {3, 1, 2}, {3, 1, 2}};
  Pair old[4] = {{0, 33, 0}, {0, 33, 0}, {0, 33, 0}, {0, 33, 0}};
  ASSERT_DONE(window->lock(target, false));
  ASSERT_DONE(window->get_accumulate(side_of(offer, 1, apart), side_of(old, 1, apart), target, target_at(0, 2, pairs),
                                     Operation::maximum_with_place));
  ASSERT_DONE(window->unlock(target));
  EXPECT_OK(g.barrier());
  const auto* const now = reinterpret_cast<const Pair*>(window->base_of(mine));
  EXPECT_EQ(now[0].value, 9);
  EXPECT_EQ(now[0].place, 2);
  EXPECT_EQ(now[1].value, 5);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(now[i].between, 77);
    EXPECT_EQ(old[i].between, i % 2 == 0 ? 77 : 33);
    EXPECT_EQ(old[i].value, i % 2 == 0 ? 5 : 0);
  }
  EXPECT_OK(g.barrier());
  EXPECT_DONE(windows_of(g).free(*window));
}

WORLD_TEST(Windows, RequestsAreWaitedForOneByOne) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  const int target = next_of(g), mine = me(g);
  for (std::size_t i = 0; i < kWords; ++i) word_of(*window, mine, i) = 10 * mine + static_cast<std::int64_t>(i);
  EXPECT_OK(g.barrier());
  constexpr std::size_t kRequests = 16;
  std::int64_t values[kRequests];
  window::Pending pending[kRequests];
  ASSERT_DONE(window->lock(target, true));
  for (std::size_t i = 0; i < kRequests; ++i) {
    ASSERT_DONE(window->get(side_of(&values[i]), target, target_at(static_cast<std::int64_t>(i)), &pending[i]));
  }
  for (std::size_t i = 0; i < kRequests; i += 2) {
    ASSERT_DONE(pending[i].wait());
    EXPECT_EQ(values[i], 10 * target + static_cast<std::int64_t>(i));
  }
  for (bool complete = false; !complete;) ASSERT_DONE(pending[1].test(complete));
  EXPECT_EQ(values[1], 10 * target + 1);
  { const window::Pending forgotten = std::move(pending[3]); }
  ASSERT_DONE(window->flush_local(target));
  for (std::size_t i = 1; i < kRequests; i += 2) {
    EXPECT_TRUE(pending[i].is_complete());
    EXPECT_EQ(values[i], 10 * target + static_cast<std::int64_t>(i));
  }
  ASSERT_DONE(window->unlock(target));
  EXPECT_OK(g.barrier());
  window::Pending put;
  const std::int64_t value = -7 - mine;
  ASSERT_DONE(window->lock_all());
  ASSERT_DONE(window->put(side_of(&value), target, target_at(20), &put));
  ASSERT_DONE(put.wait());
  ASSERT_DONE(window->unlock_all());
  EXPECT_OK(g.barrier());
  EXPECT_EQ(word_of(*window, mine, 20), -7 - (mine + g.size() - 1) % g.size());
  EXPECT_DONE(windows_of(g).free(*window));
}

// Two ranks that lock several windows' targets in one order never wait for each other in a circle.
WORLD_TEST(Windows, LocksOfSeveralTargetsAreTakenInOrder) {
  const auto first = allocate_words(g, kWords), second = allocate_words(g, kWords);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  for (int round = 0; round < 4; ++round) {
    for (const auto& window : {first, second}) {
      for (int target = 0; target < g.size(); ++target) ASSERT_DONE(window->lock(target, false));
    }
    const std::int64_t one = 1;
    for (const auto& window : {first, second}) {
      for (int target = 0; target < g.size(); ++target) {
        std::int64_t count = 0;
        ASSERT_DONE(window->get(side_of(&count), target, target_at(1)));
        ASSERT_DONE(window->flush_local(target));
        count += one;
        ASSERT_DONE(window->put(side_of(&count), target, target_at(1)));
        ASSERT_DONE(window->flush_local(target));
        ASSERT_DONE(window->unlock(target));
      }
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_EQ(word_of(*first, me(g), 1), 4 * g.size());
  EXPECT_EQ(word_of(*second, me(g), 1), 4 * g.size());
  EXPECT_DONE(windows_of(g).free(*second));
  EXPECT_DONE(windows_of(g).free(*first));
}

// Readers of lock_all and writers of lock take turns.
WORLD_TEST(Windows, AWriterWaitsForAllReaders) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  for (int round = 0; round < 6; ++round) {
    const int target = round % g.size();
    if ((round + me(g)) % 3 == 0) {
      std::int64_t words[2] = {};
      ASSERT_DONE(window->lock(target, false));
      ASSERT_DONE(window->get(side_of(words, 2), target, target_at(0, 2)));
      ASSERT_DONE(window->flush_local(target));
      EXPECT_EQ(words[0], words[1]);
      ++words[0];
      ASSERT_DONE(window->put(side_of(words), target, target_at(0)));
      ASSERT_DONE(window->flush(target));
      ASSERT_DONE(window->put(side_of(words), target, target_at(1)));
      ASSERT_DONE(window->unlock(target));
    } else {
      std::int64_t words[2] = {-1, -2};
      ASSERT_DONE(window->lock_all());
      ASSERT_DONE(window->get(side_of(&words[0]), target, target_at(0)));
      ASSERT_DONE(window->flush(target));
      ASSERT_DONE(window->get(side_of(&words[1]), target, target_at(1)));
      ASSERT_DONE(window->unlock_all());
      EXPECT_EQ(words[0], words[1]);
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_DONE(windows_of(g).free(*window));
}

}  // namespace grapnel::test
