// Fence and barrier in every world: what was written before is there after, whatever else happens.
// SPDX-License-Identifier: Apache-2.0
#include "sync/barrier.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "launch/group.hpp"
#include "progress/between_sleeps.hpp"
#include "sync/await_word.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kSlotWords = 16;

// Every rank has a slot of kSlotWords words in every rank's memory, and one sum of accumulates.
struct Slots {
  Runtime& g;
  Memory memory;

  static std::size_t bytes(const Runtime& g) { return (static_cast<std::size_t>(g.size()) + 1) * kSlotWords * 8; }
  std::uint64_t* of(Rank owner, Rank writer) const {
    return static_cast<std::uint64_t*>(memory.on(owner)) + index(writer) * kSlotWords;
  }
  std::int64_t* sum(Rank owner) const { return reinterpret_cast<std::int64_t*>(of(owner, Rank{g.size()})); }

  // In one of the ways there are; the slot's words are then `value`, `value`+1, ….
  void write(Rank to, std::uint64_t value, std::uint64_t way) const {
    std::uint64_t words[kSlotWords];
    for (std::size_t i = 0; i < kSlotWords; ++i) words[i] = value + i;
    std::uint64_t* const slot = of(to, g.rank());
    switch (way % 3) {
      case 0: EXPECT_OK(g.put(words, slot, sizeof words, to)); break;
      case 1: {
        std::vector<Piece> pieces;
        for (std::size_t i = 0; i < kSlotWords; ++i) pieces.push_back({&words[i], slot + i, 8});
        EXPECT_OK(g.put(pieces, to));
        break;
      }
      default: {
        EXPECT_OK(g.start_put(words, slot, sizeof words, to));
        EXPECT_OK(g.wait_implicit(to));
      }
    }
    const std::int64_t one = 1;
    EXPECT_OK(g.accumulate(ElementType::int64, nullptr, &one, sum(to), sizeof one, to));
  }

  void expect(Rank writer, std::uint64_t value) const {
    std::uint64_t words[kSlotWords];
    std::memcpy(words, of(g.rank(), writer), sizeof words);
    for (std::size_t i = 0; i < kSlotWords; ++i)
      ASSERT_EQ(words[i], value + i) << "word " << i << " from " << index(writer);
  }
};

// Whether `from` writes to `to` in a round: the same in all ranks.
bool writes(std::uint64_t round, int from, int to) {
  const auto pair = static_cast<std::uint64_t>(from) << 20 | static_cast<std::uint64_t>(to);
  base::Random random(world_seed() ^ round << 40 ^ pair);
  // Some rounds are quiet, some are busy: the plans' guesses are wrong now and then.
  const double chance = round % 4 == 0 ? 0 : round % 4 == 1 ? 0.1 : 0.7;
  return random.chance(chance);
}

std::uint64_t value_of(std::uint64_t round, int from) { return round << 32 | static_cast<std::uint64_t>(from) << 16; }

}  // namespace

WORLD_TEST(Barrier, CompletesWhatWasWrittenBefore) {
  const auto memory = g.allocate(Slots::bytes(g));
  ASSERT_TRUE(memory.ok());
  const Slots slots{g, *memory};
  const int me = static_cast<int>(index(g.rank()));
  std::int64_t accumulated = 0;
  for (std::uint64_t round = 1; round <= 24; ++round) {
    for (int to = 0; to < g.size(); ++to) {
      if (writes(round, me, to)) slots.write(Rank{to}, value_of(round, me), round + static_cast<std::uint64_t>(to));
    }
    ASSERT_OK(g.barrier());
    for (int from = 0; from < g.size(); ++from) {
      if (!writes(round, from, me)) continue;
      slots.expect(Rank{from}, value_of(round, from));
      ++accumulated;
    }
    EXPECT_EQ(*slots.sum(g.rank()), accumulated) << "round " << round;
    ASSERT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

// One rank computes for long between the barriers; the others' rounds go on without it, and its writes are not late.
WORLD_TEST(Barrier, WaitsForASlowRank) {
  const auto memory = g.allocate(Slots::bytes(g));
  ASSERT_TRUE(memory.ok());
  const Slots slots{g, *memory};
  const int me = static_cast<int>(index(g.rank()));
  os::Host& host = *g.implementation().host;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    const int slow = static_cast<int>(round) % g.size();
    for (int to = 0; to < g.size(); ++to) {
      if (me == slow) {
        for (int i = 0; i < 200; ++i) host.yield();
      }
      slots.write(Rank{to}, value_of(round, me), round);
    }
    ASSERT_OK(g.barrier());
    for (int from = 0; from < g.size(); ++from) slots.expect(Rank{from}, value_of(round, from));
    ASSERT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

// As Notify.RunsAnotherLibraryBetweenSleeps: the slow rank arrives when all others have called it. The barrier still
// completes all writes.
WORLD_TEST(Barrier, RunsAnotherLibraryBetweenSleeps) {
  const auto memory = g.allocate(Slots::bytes(g)), words = g.allocate(sizeof(std::uint64_t));
  ASSERT_TRUE(memory.ok() && words.ok());
  const Slots slots{g, *memory};
  const int me = static_cast<int>(index(g.rank()));
  std::atomic_ref<std::uint64_t> calls(*static_cast<std::uint64_t*>(words->local()));
  const auto run = [&] { calls.fetch_add(1); };
  for (std::uint64_t round = 1; round <= 8; ++round) {
    const int slow = static_cast<int>(round) % g.size();
    calls.store(0);
    ASSERT_OK(g.barrier());
    for (int to = 0; to < g.size(); ++to) slots.write(Rank{to}, value_of(round, me), round);
    for (int other = 0; me == slow && other < g.size(); ++other) {
      if (other != me) await_word(g, words->on(Rank{other}), 1, Rank{other});
    }
    {
      const progress::BetweenSleeps between(run);
      ASSERT_OK(g.barrier());
    }
    for (int from = 0; from < g.size(); ++from) slots.expect(Rank{from}, value_of(round, from));
    ASSERT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*words));
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Barrier, SplitPhaseCompletesWhatWasWrittenBeforeItsBeginning) {
  const auto memory = g.allocate(2 * Slots::bytes(g));
  ASSERT_TRUE(memory.ok());
  const Slots slots{g, *memory};
  const int me = static_cast<int>(index(g.rank()));
  const std::byte* const other_half = static_cast<std::byte*>(memory->local()) + Slots::bytes(g);
  for (std::uint64_t round = 1; round <= 12; ++round) {
    for (int to = 0; to < g.size(); ++to) {
      if (writes(round, me, to)) slots.write(Rank{to}, value_of(round, me), round);
    }
    ASSERT_OK(g.begin_barrier());
    EXPECT_CODE(Code::invalid_argument, g.begin_barrier());
    // What is written now is the next barrier's.
    for (int to = 0; to < g.size(); ++to) {
      std::byte* const theirs = static_cast<std::byte*>(memory->on(Rank{to})) + Slots::bytes(g);
      EXPECT_OK(g.put(&round, theirs + 8 * me, 8, Rank{to}));
    }
    if (round % 2 == 0) {
      ASSERT_OK(g.end_barrier());
    } else {
      for (bool over = false; !over;) {
        const auto tested = g.test_barrier();
        ASSERT_TRUE(tested.ok()) << tested.status().to_string();
        over = *tested;
        std::uint64_t mine = 0;  // a rank that computes and communicates
        if (!over) EXPECT_OK(g.get(slots.of(g.rank(), g.rank()), &mine, 8, g.rank()));
      }
    }
    EXPECT_CODE(Code::invalid_argument, g.end_barrier());
    EXPECT_CODE(Code::invalid_argument, g.test_barrier().status());
    for (int from = 0; from < g.size(); ++from) {
      if (writes(round, from, me)) slots.expect(Rank{from}, value_of(round, from));
    }
    ASSERT_OK(g.barrier());
    for (int from = 0; from < g.size(); ++from) {
      std::uint64_t seen = 0;
      std::memcpy(&seen, other_half + 8 * from, 8);
      EXPECT_EQ(seen, round) << "from " << from;
    }
    ASSERT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

namespace {

Group group_of(Runtime& g, const std::vector<int>& members) {
  std::vector<Rank> ranks;
  for (const int member : members) ranks.push_back(Rank{member});
  auto group = g.make_group(ranks);
  EXPECT_TRUE(group.ok()) << group.status().to_string();
  return *group;
}

// A random set of ranks, the same in all of them; at least two members where the job has two.
std::vector<int> random_members(base::Random& random, int size) {
  std::vector<int> members;
  while (members.size() < std::min<std::size_t>(2, static_cast<std::size_t>(size))) {
    members.clear();
    for (int rank = 0; rank < size; ++rank) {
      if (random.chance(0.6)) members.push_back(rank);
    }
  }
  return members;
}

bool is_in(const std::vector<int>& members, int rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

}  // namespace

// Random groups one after the other, overlapping as they come; a rank that is in none of them continues.
WORLD_TEST(GroupBarrier, CompletesItsMembersWrites) {
  const auto memory = g.allocate(Slots::bytes(g));
  ASSERT_TRUE(memory.ok());
  const Slots slots{g, *memory};
  const int me = static_cast<int>(index(g.rank()));
  base::Random random(world_seed());
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const auto members = random_members(random, g.size());
    if (!is_in(members, me)) continue;
    const auto group = group_of(g, members);
    for (const int to : members) slots.write(Rank{to}, value_of(round, me), round);
    ASSERT_OK(g.barrier(group));
    for (const int from : members) slots.expect(Rank{from}, value_of(round, from));
    ASSERT_OK(g.barrier(group));
    if (round % 3 == 0) ASSERT_OK(g.release(group));
  }
  ASSERT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// A member's writes to ranks outside of the group are complete, too: a bystander is told by a message of its own kind.
WORLD_TEST_ON(GroupBarrier, CompletesWritesToOutsiders, shapes_from(3)) {
  const auto memory = g.allocate(Slots::bytes(g));
  ASSERT_TRUE(memory.ok());
  const Slots slots{g, *memory};
  const int outsider = g.size() - 1, me = static_cast<int>(index(g.rank()));
  std::vector<int> members;
  for (int rank = 0; rank < outsider; ++rank) members.push_back(rank);
  for (std::uint64_t round = 1; round <= 10 && me != outsider; ++round) {
    const auto group = group_of(g, members);
    slots.write(Rank{outsider}, value_of(round, me), round);
    ASSERT_OK(g.barrier(group));
    // Every member sees every rank's: through the outsider's memory, which no other rank touches.
    for (const int from : members) {
      std::uint64_t word = 0;
      EXPECT_OK(g.get(slots.of(Rank{outsider}, Rank{from}), &word, 8, Rank{outsider}));
      EXPECT_EQ(word, value_of(round, from));
    }
    ASSERT_OK(g.barrier(group));
  }
  ASSERT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// Several barriers of overlapping groups at once, ended in another order than begun, and the world's among them.
WORLD_TEST_ON(GroupBarrier, SeveralAtOnce, shapes_from(2)) {
  const auto memory = g.allocate(Slots::bytes(g));
  ASSERT_TRUE(memory.ok());
  const Slots slots{g, *memory};
  const int me = static_cast<int>(index(g.rank()));
  base::Random random(world_seed());
  for (std::uint64_t round = 1; round <= 6; ++round) {
    std::vector<std::vector<int>> sets;
    for (int i = 0; i < 3; ++i) sets.push_back(random_members(random, g.size()));
    std::sort(sets.begin(), sets.end());
    sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    std::vector<std::size_t> mine;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (is_in(sets[i], me) && sets[i].size() < static_cast<std::size_t>(g.size())) mine.push_back(i);
    }
    for (const std::size_t i : mine) {
      for (const int to : sets[i]) slots.write(Rank{to}, value_of(round, me) + (i << 8), i);
      ASSERT_OK(g.begin_barrier(group_of(g, sets[i])));
    }
    ASSERT_OK(g.begin_barrier());
    std::reverse(mine.begin(), mine.end());
    for (const std::size_t i : mine) ASSERT_OK(g.end_barrier(group_of(g, sets[i])));
    ASSERT_OK(g.end_barrier());
    for (std::size_t i = 0; i < sets.size(); ++i) {
      for (const int from : sets[i]) {
        // The last set that both are in wrote last.
        std::size_t last = sets.size();
        for (std::size_t j = 0; j < sets.size(); ++j) {
          const bool counts = sets[j].size() < static_cast<std::size_t>(g.size());
          if (counts && is_in(sets[j], me) && is_in(sets[j], from)) last = j;
        }
        if (last < sets.size()) slots.expect(Rank{from}, value_of(round, from) + (last << 8));
      }
    }
    ASSERT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

// Their words are given back, so more groups than a node has room for can follow each other; made again, a group goes
// on where it was.
WORLD_TEST_ON(GroupBarrier, WordsAreReleased, (std::vector<Shape>{{3, 1}, {3, 2}, {5, 3}})) {
  const int me = static_cast<int>(index(g.rank()));
  if (me == 0 || me == g.size() - 1) {
    const auto pair = group_of(g, {0, g.size() - 1});
    for (int i = 0; i < 30; ++i) {
      ASSERT_OK(g.barrier(pair));
      ASSERT_OK(g.release(pair));
    }
    ASSERT_OK(g.begin_barrier(pair));
    EXPECT_CODE(Code::invalid_argument, g.release(pair));
    ASSERT_OK(g.end_barrier(pair));
    ASSERT_OK(g.release(pair));
  }
  ASSERT_OK(g.barrier());
}

// ---- payloads ----

namespace {

// Two kinds of joining: a sum, which must not count anybody twice, and a sorted list.
void add_numbers(Bytes& into, ByteView from) {
  std::uint64_t a = 0, b = 0;
  std::memcpy(&a, into.data(), sizeof a);
  std::memcpy(&b, from.data(), sizeof b);
  a += b;
  std::memcpy(into.data(), &a, sizeof a);
}

void merge_lists(Bytes& into, ByteView from) {
  into.insert(into.end(), from.begin(), from.end());
  std::sort(into.begin(), into.end());
}

}  // namespace

WORLD_TEST(BarrierPayload, IsJoinedOfEveryRankOnce) {
  sync::Barriers& barriers = *g.implementation().barriers;
  const launch::Group& world = *g.world().known();
  const auto added = g.add_combine(add_numbers), merged = g.add_combine(merge_lists);
  ASSERT_TRUE(added.ok() && merged.ok());
  const auto add = static_cast<std::uint32_t>(*added), merge = static_cast<std::uint32_t>(*merged);
  const auto memory = g.allocate(Slots::bytes(g));
  ASSERT_TRUE(memory.ok());
  const Slots slots{g, *memory};
  const int me = static_cast<int>(index(g.rank()));
  for (std::uint64_t round = 1; round <= 8; ++round) {
    for (int to = 0; to < g.size(); ++to) {
      if (writes(round, me, to)) slots.write(Rank{to}, value_of(round, me), round);
    }
    const std::uint64_t number = std::uint64_t{1} << (4 * index(g.rank())) << (round % 3);
    ASSERT_OK(barriers.begin(world, {add, std::as_bytes(std::span(&number, 1))}));
    ASSERT_OK(barriers.end(world));
    std::uint64_t expected = 0, sum = 0;
    for (int rank = 0; rank < g.size(); ++rank) expected += std::uint64_t{1} << (4 * rank) << (round % 3);
    ASSERT_EQ(barriers.joined(world).size(), sizeof sum);
    std::memcpy(&sum, barriers.joined(world).data(), sizeof sum);
    EXPECT_EQ(sum, expected);
    for (int from = 0; from < g.size(); ++from) {
      if (writes(round, from, me)) slots.expect(Rank{from}, value_of(round, from));
    }
    // Lengths that differ, and some that are empty.
    const Bytes list(index(g.rank()) % 3 * round, std::byte(index(g.rank()) + 1));
    ASSERT_OK(barriers.begin(world, {merge, list}));
    ASSERT_OK(barriers.end(world));
    Bytes all;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(g.size()); ++rank) {
      all.insert(all.end(), rank % 3 * round, std::byte(rank + 1));
    }
    EXPECT_TRUE(std::ranges::equal(barriers.joined(world), all));
    ASSERT_OK(g.barrier());  // one without, in between
  }
  const Bytes long_one(sync::Contribution::kMostBytes + 1);
  EXPECT_CODE(Code::invalid_argument, barriers.begin(world, {merge, long_one}));
  EXPECT_OK(g.free(*memory));
}

// The same by the public interface: for all, for groups that overlap, and in two steps; and what it refuses.
WORLD_TEST(BarrierPayload, IsThereForPrograms) {
  const auto add = g.add_combine(add_numbers);
  ASSERT_TRUE(add.ok()) << add.status().to_string();
  const int me = static_cast<int>(index(g.rank()));
  const auto sum_of = [](const Result<Bytes>& all) {
    EXPECT_OK(all.status());
    std::uint64_t sum = 0;
    if (all.ok() && all->size() == sizeof sum) std::memcpy(&sum, all->data(), sizeof sum);
    return sum;
  };
  const std::uint64_t mine = std::uint64_t{1} << (4 * me);
  const ByteView bytes = std::as_bytes(std::span(&mine, 1));
  std::uint64_t everybody = 0;
  for (int rank = 0; rank < g.size(); ++rank) everybody += std::uint64_t{1} << (4 * rank);
  for (int round = 0; round < 3; ++round) EXPECT_EQ(sum_of(g.barrier_with(*add, bytes)), everybody);
  // Only the last rank brings anything.
  const bool last = me + 1 == g.size();
  EXPECT_EQ(sum_of(g.barrier_with(*add, last ? bytes : ByteView())), std::uint64_t{1} << (4 * (g.size() - 1)));

  // This rank's neighbours to both sides, as far as there are any: every pair overlaps with the next.
  for (int low = 0; low + 1 < g.size(); ++low) {
    if (me != low && me != low + 1) continue;
    const Rank pair[] = {Rank{low}, Rank{low + 1}};
    const auto group = g.make_group(pair);
    ASSERT_TRUE(group.ok());
    ASSERT_OK(g.begin_barrier_with(*group, *add, bytes));
    bool over = false;
    for (int look = 0; look < 3 && !over; ++look) {
      const auto tested = g.test_barrier(*group);
      ASSERT_OK(tested.status());
      over = *tested;
    }
    if (!over) ASSERT_OK(g.end_barrier(*group));
    EXPECT_EQ(sum_of(g.joined(*group)), (std::uint64_t{1} << (4 * low)) * 17);
    ASSERT_OK(g.release(*group));
  }
  EXPECT_OK(g.barrier());
  EXPECT_CODE(Code::invalid_argument, g.barrier_with(*add, Bytes(kMostBarrierPayload + 1)).status());
  EXPECT_CODE(Code::invalid_argument, g.barrier_with(CombineId::none, bytes).status());
  EXPECT_CODE(Code::invalid_argument, g.barrier_with(CombineId{kMostCombines}, bytes).status());
  EXPECT_CODE(Code::invalid_argument, g.add_combine(nullptr).status());
  EXPECT_OK(g.barrier());
}

}  // namespace grapnel::test
