// SPDX-License-Identifier: Apache-2.0
#include "segment/internal/pin_lock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "segment/fake_launch.hpp"

namespace grapnel::segment {
namespace {

TEST(PinLock, AnUnmapperIsAloneAndGetsInBetweenBusyPins) {
  const auto host = os::make_real_host();
  test::FakeWorld world(1, 1);
  test::FakeLaunch launch(world, Rank{0});
  PinLock lock(launch, *host);
  std::atomic<bool> stop{false};
  int plain = 0;  // the thread sanitizer's eye on the lock
  std::vector<std::thread> pinners;
  for (int i = 0; i < 3; ++i) {
    pinners.emplace_back([&] {
      while (!stop.load()) {
        const std::shared_lock pin(lock);
        const int seen = plain;
        for (int work = 0; work < 10; ++work) host->relax();
        ASSERT_EQ(plain, seen);
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    const std::unique_lock alone(lock);
    ++plain;
  }
  stop = true;
  for (std::thread& pinner : pinners) pinner.join();
  EXPECT_EQ(plain, 2000);
}

TEST(PinLock, UnmappersOfSeveralRanksTakeTurns) {
  const auto host = os::make_real_host();
  test::FakeWorld world(3, 1);
  int plain = 0;
  test::run_ranks(world, [&](test::FakeLaunch& launch) {
    PinLock lock(launch, *host);  // the same word in all
    for (int i = 0; i < 2000; ++i) {
      const std::unique_lock alone(lock);
      ++plain;
    }
  });
  EXPECT_EQ(plain, 6000);
}

TEST(PinLock, PinsShare) {
  const auto host = os::make_real_host();
  test::FakeWorld world(1, 1);
  test::FakeLaunch launch(world, Rank{0});
  PinLock lock(launch, *host);
  const std::shared_lock first(lock);
  std::thread([&] { const std::shared_lock second(lock); }).join();
}

}  // namespace
}  // namespace grapnel::segment
