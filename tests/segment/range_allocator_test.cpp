// SPDX-License-Identifier: Apache-2.0
#include "segment/internal/range_allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.hpp"
#include "base/units.hpp"
#include "segment/fake_launch.hpp"

namespace grapnel::segment {
namespace {

using os::kPoolGranuleBytes;

struct Fixture {
  explicit Fixture(std::size_t granules)
      : world(1, 1, granules * kPoolGranuleBytes),
        launch(world, Rank{0}),
        host(os::make_real_host()),
        ranges(launch, *host) {}
  test::FakeWorld world;
  test::FakeLaunch launch;
  std::unique_ptr<os::Host> host;
  RangeAllocator ranges;
};

TEST(RangeAllocator, FillsThePoolAndNamesTheLongestFreeRange) {
  Fixture f(100);
  std::vector<std::size_t> offsets;
  for (int i = 0; i < 100; ++i) {
    const auto offset = f.ranges.allocate(1);
    ASSERT_TRUE(offset.ok());
    offsets.push_back(*offset);
  }
  std::sort(offsets.begin(), offsets.end());
  EXPECT_EQ(std::unique(offsets.begin(), offsets.end()), offsets.end());
  EXPECT_EQ(offsets.back(), 99 * kPoolGranuleBytes);
  EXPECT_EQ(f.ranges.allocate(1).status().code(), Code::no_memory);
  for (const std::size_t at : {10u, 11u, 12u, 63u, 64u, 65u, 66u, 90u}) {
    ASSERT_TRUE(f.ranges.free(at * kPoolGranuleBytes, kPoolGranuleBytes).ok());
  }
  const auto refused = f.ranges.allocate(5 * kPoolGranuleBytes);
  ASSERT_EQ(refused.status().code(), Code::no_memory);
  EXPECT_NE(refused.status().message().find(" " + std::to_string(4 * kPoolGranuleBytes) + ";"), std::string::npos)
      << refused.status().message();
  EXPECT_EQ(*f.ranges.allocate(4 * kPoolGranuleBytes), 63 * kPoolGranuleBytes);
  EXPECT_EQ(f.ranges.allocate(101 * kPoolGranuleBytes).status().code(), Code::no_memory);
  EXPECT_EQ(f.ranges.allocate(std::size_t{1} << 60).status().code(), Code::no_memory);
}

TEST(RangeAllocator, TheWholePoolInOnePieceAgainAndAgain) {
  Fixture f(129);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(*f.ranges.allocate(129 * kPoolGranuleBytes), 0u);
    ASSERT_TRUE(f.ranges.free(0, 129 * kPoolGranuleBytes).ok());
  }
}

TEST(RangeAllocator, UsesAnAddressAgainLate) {
  Fixture f(64);
  const auto first = f.ranges.allocate(1);
  ASSERT_TRUE(f.ranges.free(*first, 1).ok());
  EXPECT_NE(*f.ranges.allocate(1), *first);
}

TEST(RangeAllocator, AgreesWithAModelOnRandomCalls) {
  const std::uint64_t seed = 20240607;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  base::Random random(seed);
  constexpr std::size_t kGranules = 1000;
  Fixture f(kGranules);
  std::vector<bool> taken(kGranules, false);
  std::vector<std::pair<std::size_t, std::size_t>> ranges;  // offset, bytes
  for (int step = 0; step < 50'000; ++step) {
    if (random.chance(0.55)) {
      const std::size_t bytes = 1 + random.below(random.chance(0.1) ? 200 * kPoolGranuleBytes : 3 * kPoolGranuleBytes);
      const std::size_t count = base::divide_up(bytes, kPoolGranuleBytes);
      const auto offset = f.ranges.allocate(bytes);
      if (!offset.ok()) {
        ASSERT_EQ(std::search_n(taken.begin(), taken.end(), count, false), taken.end())
            << "there was room, step " << step;
        continue;
      }
      const std::size_t first = *offset / kPoolGranuleBytes;
      ASSERT_EQ(*offset % kPoolGranuleBytes, 0u);
      ASSERT_LE(first + count, kGranules);
      for (std::size_t g = first; g < first + count; ++g) {
        ASSERT_FALSE(taken[g]) << "given twice, step " << step;
        taken[g] = true;
      }
      ranges.emplace_back(*offset, bytes);
    } else if (!ranges.empty()) {
      std::swap(ranges[random.below(ranges.size())], ranges.back());
      const auto [offset, bytes] = ranges.back();
      ranges.pop_back();
      ASSERT_TRUE(f.ranges.free(offset, bytes).ok());
      const std::size_t first = offset / kPoolGranuleBytes;
      for (std::size_t g = first; g < first + base::divide_up(bytes, kPoolGranuleBytes); ++g) taken[g] = false;
    }
  }
}

TEST(RangeAllocator, RanksOfANodeNeverGetTheSame) {
  constexpr int kRanks = 4;
  constexpr std::size_t kGranules = 512;
  test::FakeWorld world(kRanks, 1, kGranules * kPoolGranuleBytes);
  std::vector<std::atomic<int>> owner(kGranules);
  test::run_ranks(world, [&](test::FakeLaunch& launch) {
    const auto host = os::make_real_host();
    RangeAllocator ranges(launch, *host);
    base::Random random(index(launch.rank()));
    for (int i = 0; i < 5000; ++i) {
      const std::size_t bytes = (1 + random.below(8)) * kPoolGranuleBytes;
      const auto offset = ranges.allocate(bytes);
      ASSERT_TRUE(offset.ok());
      const std::size_t first = *offset / kPoolGranuleBytes;
      for (std::size_t g = first; g < first + bytes / kPoolGranuleBytes; ++g) ASSERT_EQ(owner[g].exchange(1), 0);
      for (std::size_t g = first; g < first + bytes / kPoolGranuleBytes; ++g) owner[g].store(0);
      ASSERT_TRUE(ranges.free(*offset, bytes).ok());
    }
  });
}

TEST(RangeAllocator, HugePoolIsHandedOutInLargerGranules) {
  constexpr std::size_t kPoolBytes = std::size_t{1} << 42;
  if (!os::AddressPool::reserve(0, kPoolBytes).ok())
    GTEST_SKIP() << "no room for 4 TiB of addresses (thread sanitizer)";
  test::FakeWorld world(1, 1, kPoolBytes);
  test::FakeLaunch launch(world, Rank{0});
  const auto host = os::make_real_host();
  RangeAllocator ranges(launch, *host);
  EXPECT_EQ(ranges.granule_bytes(), 4 * kPoolGranuleBytes);
  const auto first = ranges.allocate(1);
  const auto second = ranges.allocate(1);
  EXPECT_EQ(*second - *first, 4 * kPoolGranuleBytes);
}

TEST(RangeAllocatorDeath, FreeingWhatIsNotTakenIsABug) {
  Fixture f(64);
  const auto first = f.ranges.allocate(2 * kPoolGranuleBytes);
  ASSERT_TRUE(f.ranges.free(*first, 2 * kPoolGranuleBytes).ok());
  EXPECT_DEATH((void)f.ranges.free(*first, 2 * kPoolGranuleBytes), "is not taken");
}

}  // namespace
}  // namespace grapnel::segment
