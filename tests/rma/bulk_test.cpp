// Long contiguous puts and gets, which go in bulk: their bytes, their order with everything else, many at once.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kSlot = 700'000;
const std::vector<Shape> kShapes{{2, 1}, {2, 2}, {3, 2}, {5, 3}};
constexpr std::size_t kBulkSizes[] = {131'073, 262'143, 262'144, 300'001, 655'360};

std::byte* slot(const Memory& memory, Rank target, Rank origin) {
  return static_cast<std::byte*>(memory.on(target)) + index(origin) * kSlot;
}

std::vector<std::byte> filled(std::uint64_t seed, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  base::Random random(seed * 31 + bytes);
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(data.data() + at, &word, std::min<std::size_t>(8, bytes - at));
  }
  return data;
}

}  // namespace

WORLD_TEST_ON(Bulk, LandsWhereItWasPutAndComesBack, kShapes) {
  const auto memory = g.allocate(kSlot * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  for (const std::size_t bytes : kBulkSizes) {
    const std::size_t offset = bytes % 64;
    for (int target = 0; target < g.size(); ++target) {
      const auto data = filled(index(g.rank()) * 100 + static_cast<std::size_t>(target), bytes);
      EXPECT_OK(g.put(data.data(), slot(*memory, Rank{target}, g.rank()) + offset, bytes, Rank{target}));
    }
    EXPECT_OK(g.barrier());
    for (int origin = 0; origin < g.size(); ++origin) {
      const auto data = filled(static_cast<std::size_t>(origin) * 100 + index(g.rank()), bytes);
      EXPECT_EQ(std::memcmp(slot(*memory, g.rank(), Rank{origin}) + offset, data.data(), bytes), 0) << bytes;
      std::vector<std::byte> back(bytes);
      EXPECT_OK(g.get(slot(*memory, Rank{origin}, g.rank()) + offset, back.data(), bytes, Rank{origin}));
      EXPECT_EQ(back, filled(index(g.rank()) * 100 + static_cast<std::size_t>(origin), bytes)) << bytes;
    }
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

// Blocking operations of one rank to the same bytes take effect in program order, whichever way each goes; accumulates
// of all ranks to the same stripe park some of them on the way.
WORLD_TEST_ON(Bulk, KeepsProgramOrder, kShapes) {
  const auto ranks = static_cast<std::size_t>(g.size());
  const auto memory = g.allocate(kSlot * ranks);
  const auto shared = g.allocate(4096);
  ASSERT_TRUE(memory.ok() && shared.ok());
  const Rank far{static_cast<int>((index(g.rank()) + 1) % ranks)};
  std::byte* const there = slot(*memory, far, g.rank());
  std::vector<std::byte> model(kSlot);
  base::Random random(world_seed() + index(g.rank()));
  const std::vector<std::int64_t> ones(512, 1);
  std::int64_t added = 0;
  for (int round = 0; round < 12; ++round) {
    EXPECT_OK(g.accumulate(ElementType::int64, nullptr, ones.data(), shared->on(Rank{0}), 4096, Rank{0}));
    EXPECT_OK(g.accumulate(ElementType::int64, nullptr, ones.data(), shared->on(far), 4096, far));
    ++added;
    const std::size_t bytes = random.chance(0.6) ? 262'144 + random.below(400'000) : 1 + random.below(100'000);
    const std::size_t at = random.below(kSlot - bytes + 1);
    const auto data = filled(random.next(), bytes);
    if (random.chance(0.5)) {
      EXPECT_OK(g.put(data.data(), there + at, bytes, far));
    } else {
      Handle handle;
      EXPECT_OK(g.start_put(data.data(), there + at, bytes, far, &handle));
      EXPECT_OK(g.wait(handle));
    }
    std::copy(data.begin(), data.end(), model.begin() + static_cast<std::ptrdiff_t>(at));
    const std::uint64_t word = random.next();
    EXPECT_OK(g.put(&word, there + at, std::min<std::size_t>(bytes, 8), far));
    std::memcpy(model.data() + at, &word, std::min<std::size_t>(bytes, 8));
    if (random.chance(0.5)) {
      std::vector<std::byte> back(kSlot);
      EXPECT_OK(g.get(there, back.data(), kSlot, far));
      ASSERT_EQ(back, model) << "round " << round;
    }
  }
  EXPECT_OK(g.barrier());
  std::vector<std::byte> back(kSlot);
  EXPECT_OK(g.get(there, back.data(), kSlot, far));
  EXPECT_EQ(back, model);
  const std::int64_t to_me = added * static_cast<std::int64_t>(index(g.rank()) == 0 ? ranks + 1 : 1);
  EXPECT_EQ(static_cast<const std::int64_t*>(shared->local())[511], to_me);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*shared));
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST_ON(Bulk, ManyAtOnceAndWaitedForInAnotherOrder, kShapes) {
  constexpr std::size_t kParts = 2, kBytes = 300'000;
  const auto memory = g.allocate(kSlot * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  const std::size_t count = kParts * static_cast<std::size_t>(g.size());
  std::vector<std::vector<std::byte>> data, back(count);
  std::vector<Handle> handles(count);
  const auto place = [&](std::size_t i) {
    return slot(*memory, Rank{static_cast<int>(i / kParts)}, g.rank()) + i % kParts * (kBytes + 7);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Rank target{static_cast<int>(i / kParts)};
    data.push_back(filled(index(g.rank()) * 1000 + i, kBytes));
    EXPECT_OK(g.start_put(data[i].data(), place(i), kBytes, target, i % 3 == 0 ? nullptr : &handles[i]));
  }
  EXPECT_OK(g.wait_implicit());
  for (std::size_t i = count; i-- > 0;) EXPECT_OK(g.wait(handles[i]));
  EXPECT_OK(g.barrier());
  for (std::size_t i = 0; i < count; ++i) {
    const Rank target{static_cast<int>(i / kParts)};
    back[i].resize(kBytes);
    EXPECT_OK(g.start_get(place(i), back[i].data(), kBytes, target, &handles[i]));
  }
  for (std::size_t i = count; i-- > 0;) EXPECT_OK(g.wait(handles[i]));
  EXPECT_EQ(back, data);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// No thread moves a rank's messages while it waits at a barrier, so a started put's payload has left before.
WORLD_TEST_ON(Bulk, StartedPutsAreThereAfterABarrier, kShapes) {
  const auto ranks = static_cast<std::size_t>(g.size());
  const auto memory = g.allocate(kSlot);
  ASSERT_TRUE(memory.ok());
  const Rank far{static_cast<int>((index(g.rank()) + 1) % ranks)};
  const std::size_t before = (index(g.rank()) + ranks - 1) % ranks;
  std::vector<std::byte> data;
  for (std::size_t round = 0; round < 4; ++round) {
    const std::size_t bytes = kBulkSizes[1 + round];
    EXPECT_OK(g.barrier());  // the connections stand, and the last round's data has been looked at
    data = filled(index(g.rank()) * 10 + round, bytes);
    Handle handle;
    EXPECT_OK(g.start_put(data.data(), memory->on(far), bytes, far, round % 2 == 0 ? &handle : nullptr));
    EXPECT_OK(g.barrier());
    EXPECT_EQ(std::memcmp(memory->local(), filled(before * 10 + round, bytes).data(), bytes), 0) << bytes;
    EXPECT_OK(round % 2 == 0 ? g.wait(handle) : g.wait_implicit());
  }
  EXPECT_OK(g.free(*memory));
}

// Several are under way together; those that overlap land in program order, whatever lands in the meantime.
WORLD_TEST_ON(Bulk, OverlappingOnesLandInTheirOrder, kShapes) {
  constexpr std::size_t kPuts = 7;
  const auto memory = g.allocate(kSlot * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  const Rank far{static_cast<int>((index(g.rank()) + 1) % static_cast<std::size_t>(g.size()))};
  std::byte* const there = slot(*memory, far, g.rank());
  std::vector<std::byte> model(kSlot), back(kSlot);
  base::Random random(world_seed() * 7 + index(g.rank()));
  EXPECT_OK(g.put(model.data(), there, kSlot, far));
  for (int round = 0; round < 4; ++round) {
    std::vector<std::vector<std::byte>> data;
    for (std::size_t i = 0; i < kPuts; ++i) {
      const std::size_t bytes = 131'073 + random.below(100'000);
      const std::size_t at = random.below(kSlot - bytes + 1);
      data.push_back(filled(random.next(), bytes));
      EXPECT_OK(g.start_put(data[i].data(), there + at, bytes, far));
      std::copy(data[i].begin(), data[i].end(), model.begin() + static_cast<std::ptrdiff_t>(at));
    }
    EXPECT_OK(g.wait_implicit());
    EXPECT_OK(g.fence(far));
    EXPECT_OK(g.get(there, back.data(), kSlot, far));
    ASSERT_EQ(back, model) << "round " << round;
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
