// Barrier, locks and the exchange under an allocation.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {

WORLD_TEST(Barrier, NobodyLeavesBeforeAllHaveCome) {
  const auto memory = g.allocate(8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  for (std::uint64_t round = 1; round <= 30; ++round) {
    for (int target = 0; target < g.size(); ++target) {
      EXPECT_OK(
          g.put(&round, static_cast<std::uint64_t*>(memory->on(Rank{target})) + index(g.rank()), 8, Rank{target}));
    }
    EXPECT_OK(g.barrier());
    for (int origin = 0; origin < g.size(); ++origin) {
      EXPECT_GE(static_cast<std::uint64_t*>(memory->local())[origin], round) << "from rank " << origin;
    }
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Locks, ExcludeEachOther) {
  EXPECT_OK(g.create_locks(3));
  const auto memory = g.allocate(16);
  ASSERT_TRUE(memory.ok());
  const Rank home{g.size() / 2};
  constexpr int kEach = 25;
  for (int i = 0; i < kEach; ++i) {
    EXPECT_OK(g.lock(1, home));
    std::int64_t value = 0;  // a read and a write that only the lock keeps together
    EXPECT_OK(g.get(memory->on(home), &value, sizeof value, home));
    ++value;
    EXPECT_OK(g.put(&value, memory->on(home), sizeof value, home));
    EXPECT_OK(g.fence(home));
    EXPECT_OK(g.unlock(1, home));
  }
  EXPECT_OK(g.barrier());
  std::int64_t value = 0;
  EXPECT_OK(g.get(memory->on(home), &value, sizeof value, home));
  EXPECT_EQ(value, kEach * g.size());
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
  EXPECT_OK(g.destroy_locks());
}

WORLD_TEST(Locks, MisuseIsAnError) {
  EXPECT_CODE(Code::invalid_argument, g.lock(0, Rank{0}));  // there are none yet
  EXPECT_OK(g.create_locks(2));
  EXPECT_CODE(Code::invalid_argument, g.lock(2, Rank{0}));
  EXPECT_CODE(Code::invalid_argument, g.lock(-1, Rank{0}));
  EXPECT_CODE(Code::invalid_argument, g.lock(0, Rank{g.size()}));
  EXPECT_CODE(Code::invalid_argument, g.unlock(0, Rank{0}));
  EXPECT_OK(g.lock(0, g.rank()));
  EXPECT_CODE(Code::invalid_argument, g.lock(0, g.rank()));
  EXPECT_CODE(Code::invalid_argument, g.destroy_locks());  // on all ranks
  EXPECT_OK(g.unlock(0, g.rank()));
  EXPECT_OK(g.barrier());
  EXPECT_CODE(Code::invalid_argument, g.create_locks(1));
  EXPECT_OK(g.destroy_locks());
  EXPECT_OK(g.create_locks(1));
  EXPECT_OK(g.destroy_locks());
}

WORLD_TEST(Allocation, PartsMayDifferAndGoInAnyOrder) {
  std::vector<Memory> all;
  base::Random random(world_seed());  // the same in all ranks
  for (int i = 0; i < 20; ++i) {
    const std::size_t bytes = random.chance(0.2) ? 0 : random.below(20000) * (index(g.rank()) % 2 + 1);
    auto memory = g.allocate(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    EXPECT_EQ(memory->bytes_on(g.rank()), bytes);
    all.push_back(std::move(*memory));
  }
  while (!all.empty()) {
    const std::size_t one = random.below(all.size());
    // Allocations without memory here are matched by their order: take them only from the front.
    EXPECT_OK(g.free(all[all[one].local() == nullptr ? 0 : one]));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(all[one].local() == nullptr ? 0 : one));
  }
}

WORLD_TEST(Allocation, TooMuchIsRefusedByAllAndTheJobGoesOn) {
  const auto too_much = g.allocate(index(g.rank()) == 0 ? std::size_t{1} << 44 : 64);
  EXPECT_CODE(Code::no_memory, too_much.status());
  const auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
