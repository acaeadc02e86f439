// Notifications: what was written before is there, each one counts, one message each.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "progress/between_sleeps.hpp"
#include "sync/await_word.hpp"

namespace grapnel::test {
namespace {

// A cell per origin: what the origin wrote last, in a block, and what it added up.
struct Cell {
  std::uint64_t block[200];
  std::int64_t sum;
};

}  // namespace

// Blocking, started and accumulated writes to random ranks, each burst followed by a notification.
WORLD_TEST_ALONE(Notify, WritesBeforeItAreThere) {
  const auto ranks = static_cast<std::size_t>(g.size());
  const auto memory = g.allocate(sizeof(Cell) * ranks);
  ASSERT_TRUE(memory.ok());
  constexpr std::uint64_t kRounds = 25;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    for (std::size_t step = 0; step < ranks; ++step) {
      const Rank target{static_cast<int>((index(g.rank()) + step + round) % ranks)};
      Cell& cell = static_cast<Cell*>(memory->on(target))[index(g.rank())];
      std::uint64_t block[200];
      for (std::uint64_t i = 0; i < 200; ++i) block[i] = pattern(g.rank(), round, i);
      const std::size_t cut = pattern(g.rank(), round, 999) % 200 * 8;
      Handle handle;
      EXPECT_OK(g.start_put(block, cell.block, cut, target, &handle));
      EXPECT_OK(g.put(reinterpret_cast<std::byte*>(block) + cut, reinterpret_cast<std::byte*>(cell.block) + cut,
                      sizeof block - cut, target));
      const auto one = static_cast<std::int64_t>(round);
      EXPECT_OK(g.accumulate(ElementType::int64, nullptr, &one, &cell.sum, sizeof one, target));
      EXPECT_OK(g.wait(handle));
      EXPECT_OK(g.notify(target));
    }
    for (int origin = 0; origin < g.size(); ++origin) {
      const auto count = g.wait_notify(Rank{origin});
      ASSERT_TRUE(count.ok()) << count.status().to_string();
      EXPECT_EQ(*count, round) << "everybody waits for me below";
      const Cell& cell = static_cast<const Cell*>(memory->local())[origin];
      for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(cell.block[i], pattern(Rank{origin}, round, i)) << i;
      EXPECT_EQ(cell.sum, static_cast<std::int64_t>(round * (round + 1) / 2));
    }
    EXPECT_TRUE(g.allgather(g.world(), {}).ok());  // orders nothing but the rounds
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST_ALONE(Notify, EachIsTakenOnceAndCountsOn) {
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  const Rank previous{(static_cast<int>(index(g.rank())) + g.size() - 1) % g.size()};
  constexpr std::uint32_t kMany = 100;
  const bool away = !g.same_node(next);
  Runtime::Implementation& parts = g.implementation();
  const std::uint64_t messages = away ? parts.client->messages() : 0;
  for (std::uint32_t i = 0; i < kMany; ++i) EXPECT_OK(g.notify(next));
  if (away) {
    EXPECT_EQ(parts.client->messages() - messages, kMany) << "one message each, no round trip";
  }
  for (std::uint32_t i = 1; i <= kMany; ++i) {
    const auto count = g.wait_notify(previous);
    ASSERT_TRUE(count.ok());
    EXPECT_GE(*count, i);
    EXPECT_LE(*count, kMany);
  }
  EXPECT_CODE(Code::invalid_argument, g.notify(Rank{g.size()}));
  EXPECT_CODE(Code::invalid_argument, g.notify(Rank{-1}));
  EXPECT_CODE(Code::invalid_argument, g.wait_notify(Rank{g.size()}).status());
}

// A library that makes progress only while it is called is called while rank 1 waits for rank 0's notification, which
// rank 0 sends after the second call.
WORLD_TEST_ALONE(Notify, RunsAnotherLibraryBetweenSleeps) {
  const Rank me = g.rank();
  const Rank next{(static_cast<int>(index(me)) + 1) % g.size()};
  const Rank previous{(static_cast<int>(index(me)) + g.size() - 1) % g.size()};
  const auto memory = g.allocate(sizeof(std::uint64_t));
  ASSERT_OK(memory.status());
  std::atomic_ref<std::uint64_t> calls(*static_cast<std::uint64_t*>(memory->local()));
  const auto run = [&] { calls.fetch_add(1); };
  ASSERT_OK(g.barrier());
  if (index(me) == 0 && g.size() > 1) await_word(g, memory->on(next), 2, next);
  EXPECT_OK(g.notify(next));
  {
    const progress::BetweenSleeps between(run);
    const auto arrived = g.wait_notify(previous);
    ASSERT_TRUE(arrived.ok()) << arrived.status().to_string();
    EXPECT_EQ(*arrived, 1U);
  }
  const std::uint64_t before = calls.load();
  ASSERT_OK(g.barrier());
  EXPECT_EQ(calls.load(), before) << "after its scope";
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
