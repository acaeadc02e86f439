// Handles: explicit, implicit, aggregate, and many of them.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {

WORLD_TEST(Nonblocking, ManyHandlesToEverybody) {
  constexpr std::size_t kEach = 200;
  const auto ranks = static_cast<std::size_t>(g.size());
  const auto memory = g.allocate(kEach * ranks * sizeof(std::uint64_t));
  ASSERT_TRUE(memory.ok());
  auto place = [&](Rank target, Rank origin, std::size_t i) {
    return static_cast<std::uint64_t*>(memory->on(target)) + index(origin) * kEach + i;
  };
  std::vector<std::uint64_t> values(kEach * ranks);
  std::vector<Handle> handles(kEach * ranks);
  for (std::size_t target = 0; target < ranks; ++target) {
    for (std::size_t i = 0; i < kEach; ++i) {
      const Rank to{static_cast<int>(target)};
      values[target * kEach + i] = pattern(g.rank(), target, i);
      EXPECT_OK(g.start_put(&values[target * kEach + i], place(to, g.rank(), i), 8, to, &handles[target * kEach + i]));
    }
  }
  for (std::size_t i = handles.size(); i-- > 0;) EXPECT_OK(g.wait(handles[i]));  // in another order than started
  EXPECT_OK(g.barrier());
  std::vector<std::uint64_t> back(kEach * ranks);
  for (std::size_t target = 0; target < ranks; ++target) {
    for (std::size_t i = 0; i < kEach; ++i) {
      const Rank from{static_cast<int>(target)};
      EXPECT_OK(g.start_get(place(from, g.rank(), i), &back[target * kEach + i], 8, from));
    }
  }
  EXPECT_OK(g.wait_implicit());
  EXPECT_EQ(back, values);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Nonblocking, TestTurnsTrueWithoutSleeping) {
  const auto memory = g.allocate(1 << 18);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  std::vector<std::byte> data(1 << 18, std::byte{7}), back(1 << 18);
  EXPECT_OK(g.put(data.data(), memory->on(next), data.size(), next));
  Handle handle;
  EXPECT_OK(g.start_get(memory->on(next), back.data(), back.size(), next, &handle));
  for (;;) {
    const auto complete = g.test(handle);
    ASSERT_TRUE(complete.ok()) << complete.status().to_string();
    if (*complete) break;
  }
  EXPECT_EQ(back, data);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Nonblocking, AggregatesGatherPutsAndGets) {
  constexpr std::size_t kCount = 6000;
  constexpr std::size_t kChunk = 64 * 1024;
  const auto memory = g.allocate(kCount * 32);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  auto* base = static_cast<std::byte*>(memory->on(next));
  std::vector<std::uint64_t> values(kCount), back(kCount);
  const std::uint64_t expected = g.same_node(next) ? 0 : (kCount * 8 + kChunk - 1) / kChunk;
  const std::uint64_t puts = wire_messages(g, "put"), gets = wire_messages(g, "get");
  Handle handle = Handle::aggregate();
  for (std::size_t i = 0; i < kCount; ++i) {
    values[i] = pattern(g.rank(), 1, i);
    EXPECT_OK(g.start_put(&values[i], base + 32 * i, 8, next, &handle));
  }
  EXPECT_OK(g.wait(handle));
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_OK(g.start_get(base + 32 * i, &back[i], 8, next, &handle));
  EXPECT_OK(g.wait(handle));
  EXPECT_EQ(back, values);
  EXPECT_EQ(wire_messages(g, "put") - puts, expected);
  EXPECT_EQ(wire_messages(g, "get") - gets, expected);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST_ON(Nonblocking, ThousandsOutstanding, (std::vector<Shape>{{2, 2}})) {
  // Without limit: the window makes the starter wait for room, never fail. 20,000 and 100,000: armci_volume.
  constexpr std::size_t kCount = 3000;
  const auto memory = g.allocate(kCount * 8);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  std::vector<std::uint64_t> back(kCount, 1);
  std::vector<Handle> handles(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_OK(g.start_get(static_cast<std::uint64_t*>(memory->on(next)) + i, &back[i], 8, next, &handles[i]));
  }
  for (Handle& handle : handles) EXPECT_OK(g.wait(handle));
  EXPECT_EQ(back, std::vector<std::uint64_t>(kCount, 0));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
