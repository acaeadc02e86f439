// Collectives in two steps beside everything else that waits, and with ranks that come late.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "collective/started.hpp"
#include "harness/world.hpp"

namespace grapnel::test {

// Beside operations, locks, barriers of both kinds, blocking collectives of the same group and of others.
WORLD_TEST(StartedCollectives, BesideEverythingElse) {
  auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  ASSERT_OK(g.create_locks(1));
  const Group odd = group_where(g, [](Rank rank) { return index(rank) % 2 == 1; });
  const Rank next{(static_cast<int>(g.rank()) + 1) % g.size()};
  for (std::int64_t round = 0; round < 6; ++round) {
    const auto number = static_cast<std::uint64_t>(round);
    Started long_one = start_sum(g, g.world(), 100 + number, 4000);
    ASSERT_OK(g.put(&round, memory->on(next), sizeof round, next));
    Started of_odd;
    if (odd.size() > 0) of_odd = start_allgather(g, odd, number, 700);
    ASSERT_OK(g.lock(0, Rank{0}));
    Started inside = start_broadcast(g, g.world(), number, 33);
    ASSERT_OK(g.unlock(0, Rank{0}));
    ASSERT_OK(g.begin_barrier());
    std::int64_t one = 1, all = 0;
    ASSERT_OK(g.allreduce(reduction(Operation::sum, NumberType::int64).value(), &one, &all, 1));
    ASSERT_EQ(all, g.size());
    Started last = start_reduce(g, g.world(), number, 50);
    ASSERT_OK(g.end_barrier());
    EXPECT_EQ(*static_cast<std::int64_t*>(memory->local()), round);
    if (odd.size() > 0) {
      ASSERT_NO_FATAL_FAILURE(of_odd.wait_and_compare());
    }
    ASSERT_NO_FATAL_FAILURE(last.wait_and_compare());
    ASSERT_OK(g.barrier());
    ASSERT_NO_FATAL_FAILURE(inside.wait_and_compare());
    ASSERT_NO_FATAL_FAILURE(long_one.wait_and_compare());
  }
  ASSERT_OK(g.destroy_locks());
  ASSERT_OK(g.free(*memory));
}

// Rank 0 waits for the call while it holds what the others wait for: they advance the call in that wait. The data is
// more than inboxes and windows hold, so the call needs them.
WORLD_TEST_ON(StartedCollectives, GoOnInOtherWaits, shapes_from(2)) {
  ASSERT_OK(g.create_locks(1));
  const bool first = g.rank() == Rank{0};
  if (first) {
    ASSERT_OK(g.lock(0, Rank{g.size() - 1}));
  }
  ASSERT_OK(g.barrier());
  Started call = start_alltoall(g, g.world(), 1, 20'000);
  if (first) {
    ASSERT_NO_FATAL_FAILURE(call.wait_and_compare());
  } else {
    ASSERT_OK(g.lock(0, Rank{g.size() - 1}));
  }
  ASSERT_OK(g.unlock(0, Rank{g.size() - 1}));
  if (!first) {
    ASSERT_NO_FATAL_FAILURE(call.wait_and_compare());
  }

  Started beside_a_barrier = start_sum(g, g.world(), 2, 20'000);
  if (first) {
    ASSERT_NO_FATAL_FAILURE(beside_a_barrier.wait_and_compare());
  }
  ASSERT_OK(g.barrier());
  if (!first) {
    ASSERT_NO_FATAL_FAILURE(beside_a_barrier.wait_and_compare());
  }

  Started beside_a_notify = start_sum(g, g.world(), 3, 20'000);
  if (first) {
    ASSERT_NO_FATAL_FAILURE(beside_a_notify.wait_and_compare());
    for (int rank = 1; rank < g.size(); ++rank) ASSERT_OK(g.notify(Rank{rank}));
  } else {
    ASSERT_OK(g.wait_notify(Rank{0}).status());
    ASSERT_NO_FATAL_FAILURE(beside_a_notify.wait_and_compare());
  }
  ASSERT_OK(g.destroy_locks());
}

// Another thread of each rank gets from its neighbour and puts to it: its waits advance the calls, too.
WORLD_TEST(StartedCollectives, AreAdvancedByOtherThreads) {
  if (world_has_virtual_time()) return;
  auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(g.rank()) + 1) % g.size()};
  std::atomic<bool> over{false};
  Status operated;
  std::thread other([&] {
    std::uint64_t number = 0;
    while (!over.load() && operated.ok()) {
      operated = g.put(&number, memory->on(next), sizeof number, next);
      if (operated.ok()) operated = g.fence(next);
      if (operated.ok()) operated = g.get(memory->on(next), &number, sizeof number, next);
      ++number;
    }
  });
  for (std::uint64_t round = 0; round < 8 && !testing::Test::HasFailure(); ++round) {
    Started sum = start_sum(g, g.world(), round, 3000), pieces = start_alltoall(g, g.world(), round, 3000);
    Started all = start_allgather(g, g.world(), round, 100);
    all.wait_and_compare();
    pieces.wait_and_compare();
    sum.wait_and_compare();
  }
  over.store(true);
  other.join();
  EXPECT_OK(operated);
  ASSERT_OK(g.barrier());
  ASSERT_OK(g.free(*memory));
}

// A root that only sends waits at some time for the others, which come late.
WORLD_TEST(StartedCollectives, ManyInOneDirection) {
  std::vector<Started> pending;
  for (std::uint64_t i = 0; i < 300; ++i) {
    if (i == 5 && g.rank() != Rank{0} && !world_has_virtual_time()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const Bytes wanted = bytes_of(Rank{0}, i, 16);
    pending.push_back(started(g.rank() == Rank{0} ? wanted : Bytes(16), wanted,
                              [&](std::byte* data) { return g.start_broadcast(data, 16, Rank{0}); }));
    if (i % 7 == 0) pending.erase(pending.begin());  // let go
  }
  std::reverse(pending.begin(), pending.end());
  for (Started& call : pending) ASSERT_NO_FATAL_FAILURE(call.wait_and_compare());
}

WORLD_TEST(StartedCollectives, LateRanksDoNoHarm) {
  for (int late = 0; late < std::min(3, g.size()); ++late) {
    if (static_cast<int>(g.rank()) == late && !world_has_virtual_time()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    Started first = start_sum(g, g.world(), 5, 10), second = start_allgather(g, g.world(), 6, 5000);
    ASSERT_NO_FATAL_FAILURE(second.wait_and_compare());
    ASSERT_NO_FATAL_FAILURE(first.wait_and_compare());
  }
}

}  // namespace grapnel::test
