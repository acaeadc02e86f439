// Barriers beside other work: those of disjoint groups, and notifications under way.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {
namespace {

// The ranks that leave the same rest: on every node some of each.
std::vector<Rank> every_other(const Runtime& g, int rest) {
  std::vector<Rank> members;
  for (int rank = rest; rank < g.size(); rank += 2) members.push_back(Rank{rank});
  return members;
}

}  // namespace

// Two groups that share nodes and no rank; one makes three times as many barriers as the other.
WORLD_TEST_ON(BarrierTraffic, DisjointGroupsDoNotMindEachOther, shapes_from(2)) {
  const auto memory = g.allocate(8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  const int me = static_cast<int>(index(g.rank()));
  const auto group = g.make_group(every_other(g, me % 2));
  ASSERT_TRUE(group.ok());
  const std::uint64_t rounds = me % 2 == 0 ? 30 : 10;
  const auto* const words = static_cast<const std::uint64_t*>(memory->local());
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (const Rank to : group->members()) {
      EXPECT_OK(g.put(&round, static_cast<std::uint64_t*>(memory->on(to)) + me, sizeof round, to));
    }
    ASSERT_OK(g.barrier(*group));
    for (const Rank from : group->members()) EXPECT_EQ(words[index(from)], round) << "from " << index(from);
    ASSERT_OK(g.barrier(*group));
  }
  ASSERT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// A notification is no part of a barrier: it may come before its end or after, and is counted all the same.
WORLD_TEST(BarrierTraffic, NotificationsMayBeUnderWay) {
  const auto memory = g.allocate(8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  const int me = static_cast<int>(index(g.rank()));
  const auto* const words = static_cast<const std::uint64_t*>(memory->local());
  for (std::uint32_t round = 1; round <= 10; ++round) {
    const std::uint64_t value = round;
    for (int to = 0; to < g.size(); ++to) {
      EXPECT_OK(g.put(&value, static_cast<std::uint64_t*>(memory->on(Rank{to})) + me, sizeof value, Rank{to}));
      EXPECT_OK(g.notify(Rank{to}));
    }
    ASSERT_OK(g.barrier());
    for (int from = 0; from < g.size(); ++from) EXPECT_EQ(words[from], value) << "from " << from;
    for (int from = 0; from < g.size(); ++from) {
      const auto count = g.wait_notify(Rank{from});
      ASSERT_TRUE(count.ok()) << count.status().to_string();
      EXPECT_EQ(*count, round);
    }
    ASSERT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
