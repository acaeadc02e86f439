// Sets of locks of groups: any subset of the ranks, also of nodes whose leader is no member; what they cost.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <functional>
#include <vector>

#include "base/codec.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "locks/lock_set.hpp"

namespace grapnel::test {
namespace {

std::vector<Rank> ranks_where(const Runtime& g, const std::function<bool(Rank)>& is_member) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < g.size(); ++rank) {
    if (is_member(Rank{rank})) ranks.push_back(Rank{rank});
  }
  return ranks;
}

bool leads_a_node(Runtime& g, Rank rank) {
  const launch::NodeMap& nodes = g.implementation().launch->nodes();
  return nodes.leader(nodes.node_of[index(rank)]) == rank;
}

// Those of this rank, in the same order in all its members: all, every other one twice, all but the nodes' leaders, the
// upper half (which overlaps with the others).
std::vector<Group> my_groups(Runtime& g) {
  std::vector<Group> groups;
  const auto add = [&](const std::function<bool(Rank)>& is_member) {
    if (is_member(g.rank())) groups.push_back(*g.make_group(ranks_where(g, is_member)));
  };
  add([](Rank) { return true; });
  add([](Rank rank) { return index(rank) % 2 == 0; });
  add([](Rank rank) { return index(rank) % 2 == 1; });
  add([&](Rank rank) { return !leads_a_node(g, rank); });
  add([&](Rank rank) { return 2 * static_cast<int>(index(rank)) >= g.size(); });
  return groups;
}

constexpr int kLocks = 2;  ///< at home in each member

// Under each lock a number of its own, at the lock's home, is read, increased and written.
void count_up(Runtime& g, LockSet& locks, const Group& group, const Memory& numbers) {
  for (int lock = 0; lock < kLocks; ++lock) {
    for (const Rank home : group.members()) {
      void* const number = static_cast<std::uint64_t*>(numbers.on(home)) + lock;
      std::uint64_t value = 0;
      ASSERT_OK(locks.lock(lock, home));
      ASSERT_OK(g.get(number, &value, sizeof value, home));
      ++value;
      ASSERT_OK(g.put(&value, number, sizeof value, home));
      ASSERT_OK(g.fence(home));
      ASSERT_OK(locks.unlock(lock, home));
    }
  }
}

// Shared memory of all nodes for a set, by the number of its members.
double bytes_per_rank(Runtime& g, const LockSet& locks) {
  const locks::LockMemory& memory = locks.set()->memory();
  const std::uint64_t mine = memory.allocates_block() ? memory.block_bytes() : 0;
  const launch::Group& group = locks.set()->group();
  const auto all = g.implementation().exchange->allgather(group, base::bytes_of(mine));
  std::uint64_t sum = 0;
  for (const Bytes& one : *all) sum += base::Decoder(one).get<std::uint64_t>().value_or(0);
  return static_cast<double>(sum) / static_cast<double>(group.size());
}

}  // namespace

WORLD_TEST_ON(LockGroups, EveryKindExcludesInGroupsThatOverlap,
              (std::vector<Shape>{{1, 1}, {3, 1}, {3, 2}, {5, 2}, {8, 3}})) {
  constexpr int kRounds = 2;
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    for (const Group& group : my_groups(g)) {
      const auto numbers = g.allocate(group, kLocks * sizeof(std::uint64_t));
      LockOptions options;
      options.kind = kind;
      auto locks = g.create_lock_set(group, kLocks, options);
      ASSERT_TRUE(numbers.ok() && locks.ok()) << locks.status().to_string();
      for (int round = 0; round < kRounds; ++round) count_up(g, *locks, group, *numbers);
      ASSERT_OK(g.barrier(group));
      const auto* const mine = static_cast<const std::uint64_t*>(numbers->local());
      for (int lock = 0; lock < kLocks; ++lock) EXPECT_EQ(mine[lock], static_cast<unsigned>(kRounds * group.size()));
      ASSERT_OK(g.destroy_lock_set(*locks));
      EXPECT_CODE(Code::invalid_argument, locks->lock(0, group.members()[0]));
      EXPECT_OK(g.free(group, *numbers));
    }
  }
}

WORLD_TEST_ON(LockGroups, OnlyMembersAreHomes, shapes_from(2)) {
  const std::vector<Rank> members = ranks_where(g, [](Rank rank) { return index(rank) != 0; });
  if (index(g.rank()) != 0) {
    auto locks = g.create_lock_set(*g.make_group(members), 1);
    ASSERT_OK(locks.status());
    const Status refused = locks->lock(0, Rank{0});
    EXPECT_EQ(refused.code(), Code::invalid_argument);
    EXPECT_NE(refused.message().find("rank 0 is no member"), std::string::npos) << refused.message();
    EXPECT_OK(locks->lock(0, g.rank()));
    EXPECT_CODE(Code::invalid_argument, g.destroy_lock_set(*locks));
    EXPECT_OK(locks->unlock(0, g.rank()));
    EXPECT_OK(g.barrier(*g.make_group(members)));
    EXPECT_OK(g.destroy_lock_set(*locks));
    EXPECT_CODE(Code::invalid_argument, g.destroy_lock_set(*locks));
  }
  EXPECT_CODE(Code::invalid_argument, g.create_lock_set(Group(), 1).status());
}

WORLD_TEST_ON(LockGroups, AMembersLockCostsLessThanOneKiB, (std::vector<Shape>{{4, 1}, {4, 2}})) {
  for (const LockKind kind : kAllLockKinds) {
    LockOptions options;
    options.kind = kind;
    auto locks = g.create_lock_set(1, options);
    ASSERT_OK(locks.status());
    const double bytes = bytes_per_rank(g, *locks);
    EXPECT_LE(bytes, 1024) << to_string(kind);
    if (index(g.rank()) == 0) std::printf("%s: %.0f bytes per rank\n", to_string(locks->kind()), bytes);
    EXPECT_OK(g.destroy_lock_set(*locks));
  }
}

// All alive at once; each is used by both members, whose nodes' leader is the other rank.
WORLD_TEST_ON(LockGroups, ThousandsOfSetsOnTwoRanksOfFour, (std::vector<Shape>{{4, 1}, {4, 2}})) {
  const bool are_processes = g.implementation().launch->description() != "inproc";
  // Ranks that are threads are for the sanitizers, which take long. Between nodes each set waits for servers to wake.
  const int count = !are_processes ? 20 : g.node_count() == 1 ? 10'000 : 2'000;
  const std::vector<Rank> members = ranks_where(g, [](Rank rank) { return index(rank) % 2 == 1; });
  if (index(g.rank()) % 2 == 1) {
    const Group group = *g.make_group(members);
    std::vector<LockSet> sets;
    for (int i = 0; i < count; ++i) {
      auto locks = g.create_lock_set(group, 1);
      ASSERT_OK(locks.status());
      sets.push_back(*locks);
    }
    const double bytes = bytes_per_rank(g, sets[0]);
    if (index(g.rank()) == 1) std::printf("%d sets, %.0f bytes per rank each\n", count, bytes);
    for (LockSet& locks : sets) {
      for (const Rank home : members) {
        ASSERT_OK(locks.lock(0, home));
        ASSERT_OK(locks.unlock(0, home));
      }
    }
    for (LockSet& locks : sets) ASSERT_OK(g.destroy_lock_set(locks));
  }
  EXPECT_OK(g.barrier());
}

}  // namespace grapnel::test
