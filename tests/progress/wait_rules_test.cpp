// What a waiter learns, from its sleeps (SpinBudget) and from its yields (CoreSharing), and what it reports
// (WaitRecords).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "progress/internal/spin_budget.hpp"
#include "progress/waiting.hpp"

namespace grapnel::progress {
namespace {

TEST(SpinBudget, GrowsWithShortSleepsUpToItsMost) {
  SpinBudget patience(80, 640);
  EXPECT_EQ(patience.length_ns(), 80U);
  patience.slept(1'000);
  EXPECT_EQ(patience.length_ns(), 160U);
  for (int i = 0; i < 5; ++i) patience.slept(1'000);
  EXPECT_EQ(patience.length_ns(), 640U);
}

TEST(SpinBudget, IsAtItsLeastAfterALongSleep) {
  SpinBudget patience(80, 640);
  for (int i = 0; i < 5; ++i) patience.slept(1);
  patience.slept(2 * 640);
  EXPECT_EQ(patience.length_ns(), 80U);
}

constexpr int kHere = 3, kElsewhere = 4;
constexpr std::uint64_t kSlice_ns = 4 * base::kMillisecond_ns;

TEST(CoreSharing, IsNotYieldedToWhileItComputes) {
  Waiting::CoreSharing neighbour;
  EXPECT_TRUE(neighbour.wants_yield(0, base::kMillisecond_ns, kHere));
  neighbour.yielded(base::kMillisecond_ns, base::kMillisecond_ns + kSlice_ns, kHere);
  const std::uint64_t back_ns = base::kMillisecond_ns + kSlice_ns;
  EXPECT_FALSE(neighbour.wants_yield(back_ns, back_ns + kSlice_ns, kHere));
  EXPECT_TRUE(neighbour.wants_yield(back_ns, back_ns + 2 * kSlice_ns, kHere));
}

TEST(CoreSharing, IsAnotherOneOnAnotherProcessor) {
  Waiting::CoreSharing neighbour;
  neighbour.yielded(base::kMillisecond_ns, base::kMillisecond_ns + kSlice_ns, kHere);
  const std::uint64_t back_ns = base::kMillisecond_ns + kSlice_ns;
  EXPECT_TRUE(neighbour.wants_yield(back_ns, back_ns + kSlice_ns, kElsewhere));
}

TEST(CoreSharing, IsYieldedToAtEachStepWhereItAnswers) {
  Waiting::CoreSharing neighbour;
  EXPECT_FALSE(neighbour.wants_yield(1'000, 1'001, kHere));
  neighbour.yielded(1'000, 1'000 + 5 * base::kMicrosecond_ns, kHere);
  EXPECT_TRUE(neighbour.answers());
  EXPECT_TRUE(neighbour.wants_yield(1'000, 1'001, kHere));
  neighbour.yielded(20'000, 20'100, kHere);
  EXPECT_FALSE(neighbour.answers());
}

std::vector<WaitReport> reports_of(const WaitRecords& records) {
  bool being_written = false;
  auto reports = records.read(being_written);
  EXPECT_FALSE(being_written);
  return reports;
}

TEST(WaitRecords, ARecordLastsFromTheFirstSleepToTheEndOfTheWait) {
  WaitRecords records;
  {
    WaitRecords::Entry wait(records);
    EXPECT_TRUE(reports_of(records).empty());
    wait.write({WaitKind::notification, "wait_notify", {7}}, 100);
    // Between two sleeps, and after the second one.
    for (std::uint64_t rank : {7, 8}) {
      ASSERT_EQ(reports_of(records).size(), 1U);
      EXPECT_EQ(reports_of(records)[0].what[0], rank);
      EXPECT_EQ(reports_of(records)[0].since_ns, 100U);
      wait.write({WaitKind::notification, "wait_notify", {8}}, 100);
    }
  }
  EXPECT_TRUE(reports_of(records).empty());
}

TEST(WaitRecords, WaitsOfOneScopeAreOneRecordUntilItEnds) {
  WaitRecords records;
  {
    const WaitScope outer("lock", true);
    const WaitScope inner("connect", true);
    for (const std::uint64_t since_ns : {50, 90}) {
      WaitRecords::Entry(records).write({WaitKind::answer, "fence", {1}}, since_ns);
      ASSERT_EQ(reports_of(records).size(), 1U);
      EXPECT_STREQ(reports_of(records)[0].call, "lock");
      EXPECT_EQ(reports_of(records)[0].since_ns, 50U);
    }
  }
  EXPECT_TRUE(reports_of(records).empty());
}

TEST(WaitRecords, MoreWaitsThanSlotsLeaveNoRecord) {
  WaitRecords records;
  std::vector<std::unique_ptr<WaitRecords::Entry>> waits;
  for (std::size_t i = 0; i < WaitRecords::kThreads + 2; ++i) {
    waits.push_back(std::make_unique<WaitRecords::Entry>(records));
    waits.back()->write({}, 100 - i);
  }
  EXPECT_EQ(reports_of(records).size(), WaitRecords::kThreads);
  waits.erase(waits.begin());
  waits.back()->write({}, 1);  // its next sleep
  EXPECT_EQ(reports_of(records).front().since_ns, 1U);
}

}  // namespace
}  // namespace grapnel::progress
