// After a fence what was written before is there for every rank, in every world.
//
// A witness looks: the writer fences, notifies a third rank, and that one reads the target's memory. The witness's
// request arrives at the target's server on another way than the writes, so nothing but the fence keeps the two in
// order.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kRowWords = 8, kRows = 8, kSlotWords = kRowWords * kRows;
constexpr std::size_t kLong_bytes = 100'000;  // more than one message
constexpr std::uint64_t kRounds = 12;

// In every rank's memory, for every other one: a slot to write to, a sum, a long block, and two words to tell it by.
struct Place {
  std::uint64_t slot[kSlotWords];
  std::int64_t sum;
  std::uint64_t told, answered;
  std::byte block[kLong_bytes];
};

// Who writes where, how, and who looks: the same in all ranks.
struct Plan {
  std::vector<int> targets;
  int witness = 0;
  std::uint64_t way = 0;

  Plan(std::uint64_t round, int writer, int size) {
    base::Random random(world_seed() << 32 ^ round << 16 ^ static_cast<std::uint64_t>(writer));
    for (int target = 0; target < size; ++target) {
      if (random.chance(0.6)) targets.push_back(target);
    }
    witness = static_cast<int>(random.below(static_cast<std::uint64_t>(size)));
    way = random.below(3);
  }
};

struct Bench {
  Runtime& g;
  Memory memory;
  os::Host& host;

  Place& place(int owner, int writer) const { return static_cast<Place*>(memory.on(Rank{owner}))[writer]; }
  int me() const { return static_cast<int>(index(g.rank())); }

  void write(int to, std::uint64_t round) const {
    std::uint64_t words[kSlotWords];
    for (std::size_t i = 0; i < kSlotWords; ++i) words[i] = pattern(g.rank(), round, i);
    Place& there = place(to, me());
    const Rank target{to};
    const Strided rows{.levels = 1, .count = {kRowWords * 8, kRows}, .stride = {kRowWords * 8}};
    const std::vector<std::byte> block(kLong_bytes, static_cast<std::byte>(round));
    const std::int64_t one = 1;
    EXPECT_OK(g.put(block.data(), there.block, kLong_bytes, target));
    EXPECT_OK(g.put(words, rows, there.slot, rows, target));
    EXPECT_OK(g.accumulate(ElementType::int64, nullptr, &one, &there.sum, sizeof one, target));
  }

  void fence(const Plan& plan) const {
    if (plan.way == 0) EXPECT_OK(g.fence_all());
    if (plan.way == 1) EXPECT_OK(g.fence(g.world()));
    for (const int target : plan.targets) {
      if (plan.way == 2) EXPECT_OK(g.fence(Rank{target}));
    }
  }

  // By an atomic, as that orders what was stored in the node's memory before.
  void tell(int to, std::uint64_t& word, std::uint64_t round) const {
    EXPECT_OK(g.swap(&word, static_cast<std::int64_t>(round), Width::bits64, Rank{to}).status());
  }

  void await(const std::uint64_t& word, std::uint64_t round) const {
    // acquire: pairs with the atomic of the rank that notifies.
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) < round) sim::pass_time(host, 20 * base::kMicrosecond_ns);
  }

  void look(int writer, const Plan& plan, std::uint64_t round, std::int64_t times) const {
    for (const int target : plan.targets) {
      SCOPED_TRACE(::testing::Message() << "round " << round << ", " << writer << " to " << target);
      const Place& there = place(target, writer);
      std::uint64_t words[kSlotWords];
      std::int64_t sum = 0;
      std::byte last{};
      EXPECT_OK(g.get(there.slot, words, sizeof words, Rank{target}));
      EXPECT_OK(g.get(&there.sum, &sum, sizeof sum, Rank{target}));
      EXPECT_OK(g.get(&there.block[kLong_bytes - 1], &last, 1, Rank{target}));
      for (std::size_t i = 0; i < kSlotWords; ++i) ASSERT_EQ(words[i], pattern(Rank{writer}, round, i)) << "word " << i;
      EXPECT_EQ(last, static_cast<std::byte>(round));
      EXPECT_LE(sum, times);  // of earlier rounds as often as it was a target
      EXPECT_GE(sum, 1);
    }
  }
};

}  // namespace

WORLD_TEST(FenceVisibility, AWitnessSeesWhatWasFenced) {
  const auto memory = g.allocate(sizeof(Place) * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  const Bench bench{g, *memory, *g.implementation().host};
  const int me = bench.me();
  for (int writer = 0; writer < g.size(); ++writer) bench.place(me, writer) = {};
  EXPECT_OK(g.barrier());
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const Plan mine(round, me, g.size());
    if (static_cast<int>(round) % g.size() == me) sim::pass_time(bench.host, base::kMillisecond_ns);  // a slow one
    for (const int to : mine.targets) bench.write(to, round);
    bench.fence(mine);
    bench.tell(mine.witness, bench.place(mine.witness, me).told, round);
    for (int writer = 0; writer < g.size(); ++writer) {
      const Plan theirs(round, writer, g.size());
      if (theirs.witness != me) continue;
      bench.await(bench.place(me, writer).told, round);
      bench.look(writer, theirs, round, static_cast<std::int64_t>(round));
      bench.tell(writer, bench.place(writer, writer).answered, round);
    }
    bench.await(bench.place(me, me).answered, round);
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
