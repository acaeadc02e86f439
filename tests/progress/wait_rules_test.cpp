// What a waiter learns, from its sleeps (SpinBudget) and from its yields (CoreSharing), where it moves (CpuPlaces), and
// what it reports (WaitRecords).
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

TEST(CpuPlaces, LeaveAProcessorThatHasTwoMore) {
  std::vector<os::Word> cpus(5);
  const auto waits_at = [&](std::size_t rank, int cpu) { CpuPlaces(cpus, rank).note(cpu); };
  const std::vector<int> allowed{0, 1, 7};
  const CpuPlaces first(cpus, 0);
  waits_at(0, 0), waits_at(1, 0), waits_at(2, 1), waits_at(3, 7);
  EXPECT_EQ(first.emptier_than(0, allowed), std::nullopt) << "2, 1 and 1 ranks";
  waits_at(4, 0);
  EXPECT_EQ(first.emptier_than(0, allowed), 1) << "3, 1 and 1";
  waits_at(2, 7);
  EXPECT_EQ(first.emptier_than(7, allowed), 1) << "none, beside 2";
  EXPECT_EQ(first.emptier_than(1, allowed), std::nullopt);
  EXPECT_EQ(first.emptier_than(0, std::vector{0, 7}), std::nullopt) << "1 is not allowed";
  EXPECT_EQ(first.emptier_than(0, {}), std::nullopt);
}

TEST(CpuPlaces, AreLookedAtOnceInAMillisecondAndLessOftenAfterEachMove) {
  std::vector<os::Word> cpus(1);
  CpuPlaces places(cpus, 0);
  std::uint64_t now_ns = base::kMillisecond_ns;
  EXPECT_TRUE(places.may_look(now_ns));
  EXPECT_FALSE(places.may_look(now_ns + base::kMillisecond_ns - 1));
  EXPECT_TRUE(places.may_look(now_ns + base::kMillisecond_ns));
  std::uint64_t last_ns = 0;
  for (int move = 0; move < 15; ++move) {
    now_ns += 2'000 * base::kMillisecond_ns;
    places.moved(now_ns);
    std::uint64_t pause_ns = 0;
    while (!places.may_look(now_ns + pause_ns)) pause_ns += base::kMillisecond_ns;
    EXPECT_GT(pause_ns + (last_ns == 1000 * base::kMillisecond_ns), last_ns);
    last_ns = pause_ns;
  }
  EXPECT_EQ(last_ns, 1000 * base::kMillisecond_ns);
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
