#include "segment/pin_lock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace grapnel::segment {
namespace {

TEST(PinLock, AnUnmapperIsAloneAndGetsInBetweenBusyPins) {
  const auto host = os::make_real_host();
  PinLock lock(*host);
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

TEST(PinLock, PinsShare) {
  const auto host = os::make_real_host();
  PinLock lock(*host);
  const std::shared_lock first(lock);
  std::thread([&] { const std::shared_lock second(lock); }).join();
}

}  // namespace
}  // namespace grapnel::segment
