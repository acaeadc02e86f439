// Who follows whom: queues that are first come, first served; phases that alternate; passes that are bounded.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

// Long enough for every message that was sent to have been handled, in all worlds.
void settle(Runtime& g) { sim::pass_time(*g.implementation().host, 20 * base::kMillisecond_ns); }

LockSet make(Runtime& g, LockKind kind, std::uint32_t local_passes = 64) {
  LockOptions options;
  options.kind = kind;
  options.local_passes = local_passes;
  auto created = g.create_lock_set(1, options);
  EXPECT_OK(created.status());
  return created.ok() ? *created : LockSet();
}

// A rank that gets the lock takes the next number from a counter at rank 0.
std::int64_t number(Runtime& g, const Memory& counter) {
  const auto taken = g.fetch_and_add(counter.on(Rank{0}), 1, Width::bits64, Rank{0});
  EXPECT_OK(taken.status());
  return taken.ok() ? *taken : -1;
}

}  // namespace

WORLD_TEST_ON(LockOrder, QueuesAreFirstComeFirstServed, shapes_from(3)) {
  const auto counter = g.allocate(8);
  ASSERT_TRUE(counter.ok());
  std::int64_t first = 0;
  for (const LockKind kind :
       {LockKind::server_queue, LockKind::ticket, LockKind::armci_hybrid, LockKind::mcs, LockKind::mcs_by_cas}) {
    SCOPED_TRACE(to_string(kind));
    LockSet set = make(g, kind);
    const Rank home{1};
    LockRequest request;
    // One after the other they get in line; rank 0 holds the lock in the meantime.
    for (int rank = 0; rank < g.size(); ++rank) {
      if (index(g.rank()) == static_cast<std::size_t>(rank)) {
        auto started = set.start_lock(0, home);
        ASSERT_TRUE(started.ok()) << started.status().to_string();
        request = *started;
        for (int look = 0; look < 3 && rank > 0; ++look) {
          settle(g);
          const auto got = set.test(request);
          EXPECT_TRUE(got.ok() && !*got);
        }
        if (rank == 0) EXPECT_OK(set.wait(request));
      }
      EXPECT_OK(g.barrier());
    }
    if (index(g.rank()) != 0) EXPECT_OK(set.wait(request));
    EXPECT_EQ(number(g, *counter) - first, static_cast<std::int64_t>(index(g.rank())));
    EXPECT_OK(set.unlock(0, home));
    EXPECT_OK(g.barrier());
    first += g.size();
    EXPECT_OK(g.destroy_lock_set(set));
  }
  EXPECT_OK(g.free(*counter));
}

WORLD_TEST(LockOrder, ReadersShareAndWritersExclude) {
  LockSet set = make(g, LockKind::reader_writer);
  const Rank home{g.size() - 1};
  for (int round = 0; round < 3; ++round) {
    EXPECT_OK(set.lock_shared(0, home));
    EXPECT_OK(g.barrier());  // all are inside at once
    if (g.size() > 1 && index(g.rank()) == 0) EXPECT_OK(set.unlock_shared(0, home));
    EXPECT_OK(g.barrier());
    if (g.size() > 1 && index(g.rank()) == 0) {
      const auto tried = set.try_lock(0, home);
      EXPECT_TRUE(tried.ok() && !*tried);
      EXPECT_CODE(Code::timed_out, set.lock_for(0, home, base::kMillisecond_ns));
    } else {
      settle(g);
    }
    EXPECT_OK(g.barrier());
    if (g.size() == 1 || index(g.rank()) != 0) EXPECT_OK(set.unlock_shared(0, home));
    EXPECT_OK(set.lock(0, home));
    EXPECT_OK(set.unlock(0, home));
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.destroy_lock_set(set));
}

// Rank 0 writes; 1 wants to read, 2 to write; then 3 wants to read. Order: 0, 1, 2, 3.
WORLD_TEST_ON(LockOrder, PhasesAlternate, shapes_from(5)) {
  const auto counter = g.allocate(8);
  ASSERT_TRUE(counter.ok());
  LockSet set = make(g, LockKind::reader_writer);
  const Rank home{g.size() / 2};
  const std::size_t me = index(g.rank());
  const bool reads = me == 1 || me == 3;
  LockRequest request;
  const auto start = [&] {
    auto started = reads ? set.start_lock_shared(0, home) : set.start_lock(0, home);
    EXPECT_OK(started.status());
    if (started) request = *started;
    settle(g);
  };
  const auto finish = [&](std::int64_t expected) {
    EXPECT_OK(set.wait(request));
    EXPECT_EQ(number(g, *counter), expected) << "rank " << me;
  };
  if (me == 0) start();
  if (me == 0) finish(0);
  EXPECT_OK(g.barrier());
  if (me == 2) start();  // the writer arrives first, and waits for the read phase all the same
  EXPECT_OK(g.barrier());
  if (me == 1) start();
  EXPECT_OK(g.barrier());
  if (me == 0) EXPECT_OK(set.unlock(0, home));
  if (me == 1) finish(1);
  EXPECT_OK(g.barrier());
  if (me == 2) {  // a look moves a started acquisition on: from the node's queue of writers to the lock
    const auto got = set.test(request);
    EXPECT_TRUE(got.ok() && !*got);
    settle(g);
  }
  EXPECT_OK(g.barrier());
  if (me == 3) {
    start();
    const auto got = set.test(request);
    EXPECT_TRUE(got.ok() && !*got);  // a writer waits: this reader is of the next phase
  }
  EXPECT_OK(g.barrier());
  if (me == 1) EXPECT_OK(set.unlock_shared(0, home));
  if (me == 2) finish(2);
  if (me == 2) EXPECT_OK(set.unlock(0, home));
  if (me == 3) finish(3);
  if (me == 3) EXPECT_OK(set.unlock_shared(0, home));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(set));
  EXPECT_OK(g.free(*counter));
}

// All ranks want the lock all the time; while another node waits, a node keeps it for so many passes at most.
WORLD_TEST_ON(LockOrder, CohortPassesAreBounded, shapes_from(5)) {
  if (g.node_count() == 1) return;
  constexpr std::uint32_t kPasses = 2;
  constexpr int kEach = 12;
  const std::size_t total = static_cast<std::size_t>(g.size()) * kEach;
  const auto memory = g.allocate(8 + 8 * total);
  ASSERT_TRUE(memory.ok());
  LockSet set = make(g, LockKind::cohort, kPasses);
  const Rank home{0};
  auto* words = static_cast<std::int64_t*>(memory->on(Rank{0}));
  // All are in line before the first one continues.
  LockRequest request;
  for (int round = 0; round < 2; ++round) {
    if ((g.rank() == home) == (round == 0)) {
      auto started = set.start_lock(0, home);
      ASSERT_TRUE(started.ok()) << started.status().to_string();
      request = *started;
      if (round == 0) EXPECT_OK(set.wait(request));
    }
    EXPECT_OK(g.barrier());
  }
  settle(g);
  for (int i = 0; i < kEach; ++i) {
    if (i > 0) {
      EXPECT_OK(set.lock(0, home));
    } else if (g.rank() != home) {
      EXPECT_OK(set.wait(request));
    }
    const std::int64_t turn = number(g, *memory);
    const auto node = static_cast<std::int64_t>(index(g.node()));
    EXPECT_OK(g.put(&node, words + 1 + turn, sizeof node, Rank{0}));
    // Time for a link that is under way, so that the holder knows of the other node.
    sim::pass_time(*g.implementation().host, 300 * base::kMicrosecond_ns);
    EXPECT_OK(set.unlock(0, home));
  }
  EXPECT_OK(g.barrier());
  if (index(g.rank()) == 0) {
    // Until the first rank is through with its share, every node has a rank that waits.
    std::size_t in_a_row = 0, longest = 0;
    for (std::size_t i = 1; i < std::min<std::size_t>(total, kEach); ++i) {
      in_a_row = words[1 + i] == words[i] ? in_a_row + 1 : 0;
      longest = std::max(longest, in_a_row);
    }
    // A node that hands over and wants the lock again may find itself alone in the queue for a moment.
    EXPECT_LE(longest, kPasses + 4);
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(set));
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
