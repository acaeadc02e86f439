// Accesses to targets of the own node by permits (window/near.hpp): what permits them, what ends that, and what they
// leave to the long way.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "rma/update_kernels.hpp"
#include "window/opened.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kWords = 1024;

/// A place on this rank's node, another rank's where there is one.
int near_place(const Window& window) {
  for (int place = 0; place < window.size(); ++place) {
    if (place != window.my_place() && window.part(place).is_near) return place;
  }
  return window.my_place();
}

bool put(const Window& window, int target, std::int64_t word, std::int64_t value) {
  return window.near().put(target, word, &value, sizeof value);
}

bool add(const Window& window, int target, std::int64_t word, const std::vector<std::int64_t>& addends) {
  const Reduction* const sum = rma::find_kernel(Operation::sum, NumberType::int64);
  return window.near().update(target, word, {Operation::sum, NumberType::int64}, *sum, addends.data(), nullptr,
                              8 * addends.size());
}

}  // namespace

WORLD_TEST(NearTargets, ALockThatIsGrantedPermitsUntilItIsGivenBack) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  const int target = near_place(*window);
  EXPECT_FALSE(put(*window, target, 0, 1)) << "without an epoch";
  EXPECT_FALSE(window->near().flush(target));
  for (const bool shared : {false, true}) {
    ASSERT_DONE(window->lock(target, shared));
    std::int64_t found = -1;
    ASSERT_DONE(window->get(side_of(&found), target, target_at(1 + me(g))));  // waits for the grant
    ASSERT_DONE(window->get(side_of(&found), target, target_at(1 + me(g))));
    EXPECT_TRUE(put(*window, target, 1 + me(g), me(g)));
    EXPECT_TRUE(window->near().flush(target));
    EXPECT_TRUE(window->near().get(target, 1 + me(g), &found, sizeof found));
    EXPECT_EQ(found, me(g));
    ASSERT_DONE(window->unlock(target));
    EXPECT_FALSE(put(*window, target, 1 + me(g), 7));
    EXPECT_FALSE(window->near().flush(target));
  }
  EXPECT_OK(g.barrier());
  EXPECT_DONE(windows_of(g).free(*window));
}

WORLD_TEST(NearTargets, AFencePermitsNoFlushAndEveryFenceEndsIt) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  const int target = near_place(*window);
  const std::int64_t value = 5;
  for (int round = 0; round < 3; ++round) {
    ASSERT_DONE(window->fence());
    EXPECT_FALSE(put(*window, target, 1 + me(g), value)) << "the first operation marks the epoch as used";
    ASSERT_DONE(window->put(side_of(&value), target, target_at(1 + me(g))));
    EXPECT_TRUE(put(*window, target, 1 + me(g), value));
    EXPECT_FALSE(window->near().flush(target));
    EXPECT_FAULT(Fault::synchronization, window->flush(target));
    EXPECT_FAULT(Fault::synchronization, window->lock_all());
  }
  ASSERT_DONE(window->fence({.no_succeed = true}));
  EXPECT_FALSE(put(*window, target, 1 + me(g), value));
  EXPECT_FAULT(Fault::synchronization, window->put(side_of(&value), target, target_at(1 + me(g))));
  EXPECT_DONE(windows_of(g).free(*window));
}

WORLD_TEST(NearTargets, WhatLeavesTheMemoryIsLeftToTheLongWay) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  const int target = near_place(*window);
  const auto last = static_cast<std::int64_t>(kWords) - 1;
  std::int64_t found = 0;
  ASSERT_DONE(window->lock_all());
  for (int i = 0; i < 2; ++i) ASSERT_DONE(window->get(side_of(&found), target, target_at(last)));
  EXPECT_TRUE(window->near().get(target, last, &found, 8));
  EXPECT_FALSE(window->near().get(target, last, &found, 9));
  for (const std::int64_t beyond : {last + 1, std::int64_t{-1}, INT64_MAX, INT64_MIN, INT64_MAX / 8 + 1}) {
    EXPECT_FALSE(window->near().get(target, beyond, &found, 8)) << beyond;
    EXPECT_FALSE(put(*window, target, beyond, 1)) << beyond;
    EXPECT_FALSE(add(*window, target, beyond, {1})) << beyond;
  }
  for (const int stranger : {-1, window->size(), INT32_MAX, INT32_MIN}) {
    EXPECT_FALSE(put(*window, stranger, 0, 1)) << stranger;
    EXPECT_FALSE(window->near().flush(stranger)) << stranger;
  }
  ASSERT_DONE(window->unlock_all());
  EXPECT_OK(g.barrier());
  EXPECT_DONE(windows_of(g).free(*window));
}

// An update in two stripes is the long way's; both ways add up.
WORLD_TEST(NearTargets, UpdatesOfAllRanksAddUp) {
  const auto window = allocate_words(g, kWords);
  ASSERT_NE(window, nullptr);
  constexpr int kEach = 50;
  constexpr std::int64_t kFirst = 500;  // of 24 words, over the stripe's end at word 512
  const std::vector<std::int64_t> ones(24, 1);
  int target = 0;
  ASSERT_DONE(window->lock_all());
  for (int i = 0; i < kEach; ++i) {
    ASSERT_DONE(window->accumulate(side_of(ones.data(), 24), target, target_at(kFirst, 24), Operation::sum));
    if (!add(*window, target, kFirst + 1, {1})) {
      ASSERT_DONE(window->accumulate(side_of(ones.data()), target, target_at(kFirst + 1), Operation::sum));
    }
    EXPECT_FALSE(add(*window, target, kFirst, ones));
  }
  ASSERT_DONE(window->unlock_all());
  EXPECT_OK(g.barrier());
  if (me(g) == target) {
    const std::int64_t all = std::int64_t{kEach} * g.size();
    for (std::size_t word = kFirst; word < kFirst + 24; ++word) {
      EXPECT_EQ(word_of(*window, target, word), word == kFirst + 1 ? 2 * all : all) << word;
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_DONE(windows_of(g).free(*window));
}

}  // namespace grapnel::test
