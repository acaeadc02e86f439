// What a waiter learns: from its sleeps (Patience) and from its yields (Neighbour).
#include <gtest/gtest.h>

#include "progress/internal/patience.hpp"
#include "progress/waiting.hpp"

namespace grapnel::progress {
namespace {

TEST(Patience, GrowsWithShortSleepsUpToItsMost) {
  Patience patience(80, 640);
  EXPECT_EQ(patience.length_ns(), 80U);
  patience.slept(1'000);
  EXPECT_EQ(patience.length_ns(), 160U);
  for (int i = 0; i < 5; ++i) patience.slept(1'000);
  EXPECT_EQ(patience.length_ns(), 640U);
}

TEST(Patience, IsAtItsLeastAfterALongSleep) {
  Patience patience(80, 640);
  for (int i = 0; i < 5; ++i) patience.slept(1);
  patience.slept(2 * 640);
  EXPECT_EQ(patience.length_ns(), 80U);
}

constexpr int kHere = 3, kElsewhere = 4;
constexpr std::uint64_t kSlice_ns = 4 * base::kMillisecond_ns;

TEST(Neighbour, IsNotYieldedToWhileItComputes) {
  Waiting::Neighbour neighbour;
  EXPECT_TRUE(neighbour.wants_yield(0, base::kMillisecond_ns, kHere));
  neighbour.yielded(base::kMillisecond_ns, base::kMillisecond_ns + kSlice_ns, kHere);
  const std::uint64_t back_ns = base::kMillisecond_ns + kSlice_ns;
  EXPECT_FALSE(neighbour.wants_yield(back_ns, back_ns + kSlice_ns, kHere));
  EXPECT_TRUE(neighbour.wants_yield(back_ns, back_ns + 2 * kSlice_ns, kHere));
}

TEST(Neighbour, IsAnotherOneOnAnotherProcessor) {
  Waiting::Neighbour neighbour;
  neighbour.yielded(base::kMillisecond_ns, base::kMillisecond_ns + kSlice_ns, kHere);
  const std::uint64_t back_ns = base::kMillisecond_ns + kSlice_ns;
  EXPECT_TRUE(neighbour.wants_yield(back_ns, back_ns + kSlice_ns, kElsewhere));
}

TEST(Neighbour, IsYieldedToAtEachStepWhereItAnswers) {
  Waiting::Neighbour neighbour;
  EXPECT_FALSE(neighbour.wants_yield(1'000, 1'001, kHere));
  neighbour.yielded(1'000, 1'000 + 5 * base::kMicrosecond_ns, kHere);
  EXPECT_TRUE(neighbour.answers());
  EXPECT_TRUE(neighbour.wants_yield(1'000, 1'001, kHere));
  neighbour.yielded(20'000, 20'100, kHere);
  EXPECT_FALSE(neighbour.answers());
}

}  // namespace
}  // namespace grapnel::progress
