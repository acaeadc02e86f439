// The target takes no part: it computes, sleeps or sits in a system call. And nothing stays in a sender that computes.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "harness/computing.hpp"
#include "harness/world.hpp"

namespace grapnel::test {

WORLD_TEST_ON(Independence, OperationsEndWhileTheTargetComputes, shapes_from(2)) {
  const auto memory = g.allocate(16 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  EXPECT_OK(g.barrier());
  const Rank target{g.size() - 1};
  if (g.rank() == target) {
    auto* const through = static_cast<char*>(memory->local()) + 16 * index(target);
    EXPECT_TRUE(compute_until(g, through, static_cast<std::uint64_t>(g.size() - 1))) << "they wait for the target";
  } else {
    const double one = 1;
    double got = 0;
    char* mine = static_cast<char*>(memory->on(target)) + 16 * index(g.rank());
    EXPECT_OK(g.accumulate(ElementType::float64, nullptr, &one, mine, sizeof one, target));
    EXPECT_OK(g.fence(target));
    EXPECT_OK(g.get(mine, &got, sizeof got, target));
    EXPECT_EQ(got, 1);
    char* const through = static_cast<char*>(memory->on(target)) + 16 * index(target);
    EXPECT_TRUE(g.fetch_and_add(through, 1, Width::bits64, target).ok());
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST_ON(Independence, NothingStaysInASenderThatComputes, (std::vector<Shape>{{2, 2}, {5, 2}, {3, 3}})) {
  // Every rank fills the pipe to its neighbour, sends a flag last, and then computes until its own flag has come.
  constexpr std::size_t kBlock = 1 << 20, kPiece = 128 * base::kKiB;
  const auto memory = g.allocate(kBlock + 64);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  std::vector<std::byte> block(kBlock, std::byte{3});
  for (std::uint64_t round = 1; round <= 8; ++round) {
    // In pieces that are no bulk: they leave by and by, as the target's server takes them.
    for (std::size_t at = 0; at < kBlock; at += kPiece) {
      EXPECT_OK(g.put(block.data() + at, static_cast<std::byte*>(memory->on(next)) + at, kPiece, next));
    }
    EXPECT_OK(g.put(&round, static_cast<std::byte*>(memory->on(next)) + kBlock, sizeof round, next));
    EXPECT_TRUE(compute_until(g, static_cast<std::byte*>(memory->local()) + kBlock, round)) << "round " << round;
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST_ON(Independence, EndpointsAreRanksTimesNodes, (std::vector<Shape>{{5, 2}, {5, 5}, {8, 3}})) {
  const auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  for (int target = 0; target < g.size(); ++target) {
    const std::uint64_t value = 1;
    EXPECT_OK(g.put(&value, memory->on(Rank{target}), sizeof value, Rank{target}));
  }
  EXPECT_OK(g.barrier());
  EXPECT_LE(g.implementation().client->endpoint_count(), static_cast<std::size_t>(g.node_count()));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
