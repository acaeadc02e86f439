// Collectives of groups: disjoint and overlapping ones, on any part of the nodes, mixed with puts, locks and barriers.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/random.hpp"
#include "collective/expected.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

void allreduce_and_compare(Runtime& g, const Group& group, std::uint64_t round, std::size_t count) {
  const Reduction sum = reduction(Operation::sum, NumberType::float64).value();
  std::vector<Bytes> all;
  for (const Rank member : group.members()) {
    const auto numbers = numbers_of(member, round, count);
    const auto bytes = std::as_bytes(std::span(numbers));
    all.emplace_back(bytes.begin(), bytes.end());
  }
  Bytes mine = all[static_cast<std::size_t>(group.index_of(g.rank()))];
  ASSERT_OK(g.allreduce(group, sum, mine.data(), mine.data(), count));
  ASSERT_EQ(mine, joined_by(g, group, sum, all)) << "round " << round;
}

}  // namespace

// Each rank takes its groups in the same random order, so posts change hands between groups all the time.
WORLD_TEST(CollectiveGroups, OverlappingOnesDoNotMix) {
  const std::vector<Group> groups = groups_of(g);
  base::Random random(world_seed());
  for (std::uint64_t round = 0; round < 60; ++round) {
    const Group& group = groups[random.below(groups.size())];
    const std::uint64_t kind = random.below(3);
    const std::size_t size = random.chance(0.2) ? 5000 + random.below(6000) : random.below(20);
    if (!group.contains(g.rank())) continue;
    if (kind == 0) allreduce_and_compare(g, group, round, size);
    if (kind == 1) gather_and_compare(g, group, round, size);
    if (kind == 2) broadcast_and_compare(g, group, round, size);
  }
}

WORLD_TEST(CollectiveGroups, ReleasedOnesCanBeUsedAgain) {
  const std::vector<Group> groups = groups_of(g);
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (const Group& group : groups) {
      if (!group.contains(g.rank())) continue;
      for (std::uint64_t call = 0; call <= round; ++call) allreduce_and_compare(g, group, 10 * round + call, 3);
      broadcast_and_compare(g, group, round, 100);
      ASSERT_OK(g.release(group));
      ASSERT_OK(g.release(group));
    }
  }
}

WORLD_TEST(CollectiveGroups, BesidePutsLocksAndBarriers) {
  auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  ASSERT_OK(g.create_locks(1));
  const Group odd = group_where(g, [](Rank rank) { return index(rank) % 2 == 1; });
  const Rank next{(static_cast<int>(g.rank()) + 1) % g.size()};
  for (std::int64_t round = 0; round < 10; ++round) {
    ASSERT_OK(g.put(&round, memory->on(next), sizeof round, next));
    if (odd.size() > 0) allreduce_and_compare(g, odd, static_cast<std::uint64_t>(round), 2);
    ASSERT_OK(g.lock(0, Rank{0}));
    ASSERT_OK(g.unlock(0, Rank{0}));
    ASSERT_OK(g.begin_barrier());
    gather_and_compare(g, g.world(), static_cast<std::uint64_t>(round), 24);
    ASSERT_OK(g.end_barrier());
    EXPECT_EQ(*static_cast<std::int64_t*>(memory->local()), round);
    ASSERT_OK(g.barrier());
  }
  ASSERT_OK(g.destroy_locks());
  ASSERT_OK(g.free(*memory));
}

}  // namespace grapnel::test
