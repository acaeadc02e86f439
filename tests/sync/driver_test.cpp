// A rank that waits at a barrier does its sleeping server's work, and leaves it behind in good order.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "launch/group.hpp"

namespace grapnel::test {
namespace {

void pause(os::Host& host, std::uint64_t time_ns) {
  os::Word never{0};
  const std::uint64_t end_ns = host.now_ns() + time_ns;
  for (std::uint64_t now_ns = host.now_ns(); now_ns < end_ns; now_ns = host.now_ns())
    host.wait(never, 0, end_ns - now_ns);
}

// The last rank arrives late, and wants something of every rank before and after: while they wait, and while they
// compute.
WORLD_TEST_ON(Driver, AnswersWhileItWaitsAndItsServerAfterwards, shapes_from(2)) {
  constexpr int kRounds = 6, kOperations = 10;
  const auto memory = g.allocate(2 * sizeof(std::int64_t));
  ASSERT_TRUE(memory.ok());
  auto& parts = g.implementation();
  const bool late = index(g.rank()) == static_cast<std::size_t>(g.size()) - 1;
  const auto add_to_all = [&](int word) {
    for (int i = 0; i < kOperations; ++i) {
      for (int to = 0; to < g.size(); ++to) {
        auto* const sum = static_cast<std::int64_t*>(memory->on(Rank{to})) + word;
        EXPECT_TRUE(g.fetch_and_add(sum, 1, Width::bits64, Rank{to}).ok());
      }
    }
  };
  ASSERT_OK(g.barrier());
  const std::uint64_t began_ns = parts.host->now_ns();
  for (int round = 1; round <= kRounds; ++round) {
    pause(*parts.host, base::kMillisecond_ns);  // the servers fall asleep
    if (late) {
      pause(*parts.host, 2 * base::kMillisecond_ns);
      add_to_all(0);
    }
    ASSERT_OK(g.barrier());
    if (late) {
      add_to_all(1);
    } else {
      pause(*parts.host, 3 * base::kMillisecond_ns);  // without a call of ours
    }
    ASSERT_OK(g.barrier());
    const auto* const sums = static_cast<const std::int64_t*>(memory->on(g.rank()));
    EXPECT_EQ(sums[0], round * kOperations);
    EXPECT_EQ(sums[1], round * kOperations);
    ASSERT_OK(g.barrier());
  }
  // A wake-up that got lost costs 250 ms.
  EXPECT_LT(parts.host->now_ns() - began_ns, 2 * base::kSecond_ns);
  if (parts.server && !late) {
    EXPECT_GT(parts.server->statistics().turns_taken, 0U) << "no thread drove the server";
  }
  EXPECT_OK(g.free(*memory));
}

// Who gives up after a while does so under others' traffic, too: each message is a reason to go on looking.
WORLD_TEST_ON(Driver, GivesUpInTimeWhileMessagesKeepComing, shapes_from(2)) {
  const auto memory = g.allocate(2 * sizeof(std::int64_t));
  ASSERT_TRUE(memory.ok());
  auto& parts = g.implementation();
  sync::Barriers& barriers = *parts.barriers;
  const launch::Group& world = *parts.world.known();
  auto* const word = static_cast<std::int64_t*>(memory->on(Rank{0}));
  auto* const gave_up = word + 1;
  const auto add_to_gave_up = [&](std::int64_t increment) {
    const auto old = g.fetch_and_add(gave_up, increment, Width::bits64, Rank{0});
    EXPECT_TRUE(old.ok());
    return old.ok() ? *old : std::int64_t{1};
  };
  ASSERT_OK(g.barrier());
  if (index(g.rank()) == 0) {
    pause(*parts.host, base::kMillisecond_ns);  // the server falls asleep
    ASSERT_OK(barriers.begin(world));
    int calls = 0;
    std::uint64_t called_ns = parts.host->now_ns();
    const auto run = [&] {
      const std::uint64_t now_ns = parts.host->now_ns();
      if (++calls <= 3) {
        EXPECT_LT(now_ns - called_ns, 100 * base::kMillisecond_ns);
      }
      called_ns = now_ns;
      if (calls == 3) add_to_gave_up(1);
    };
    const progress::BetweenSleeps between(run);
    ASSERT_OK(barriers.end(world));
    EXPECT_GE(calls, 3);
  } else {
    // They come when rank 0 has given up, and keep it busy until then: something is always under way.
    std::int64_t got[2][16];
    Handle handles[2];
    for (int turn = 0; add_to_gave_up(0) == 0; turn ^= 1) {
      for (std::int64_t& value : got[turn]) ASSERT_OK(g.start_get(word, &value, sizeof value, Rank{0}, &handles[turn]));
      ASSERT_OK(g.wait(handles[turn ^ 1]));
      parts.host->relax();  // in a node of the simulator nothing else gives rank 0 its turn
    }
    for (Handle& handle : handles) ASSERT_OK(g.wait(handle));
    ASSERT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

}  // namespace
}  // namespace grapnel::test
