// Several threads of one rank: each one's fences, gets and handles are its own, and none waits for another's luck.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

constexpr int kThreads = 3;
constexpr std::uint64_t kRounds = 25;

// What one thread does: writes its word at the neighbour, fences, reads it back by each kind of get.
void work(Runtime& g, const Memory& memory, Rank next, std::size_t thread) {
  auto* word = static_cast<std::uint64_t*>(memory.on(next)) + index(g.rank()) * kThreads + thread;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    EXPECT_OK(g.put(&round, word, sizeof round, next));
    if (round % 3 != 0) EXPECT_OK(g.fence(next));
    std::uint64_t back = 0;
    Handle handle;
    EXPECT_OK(g.start_get(word, &back, sizeof back, next, round % 2 == 0 ? &handle : nullptr));
    EXPECT_OK(round % 2 == 0 ? g.wait(handle) : g.wait_implicit());
    EXPECT_EQ(back, round);
  }
}

}  // namespace

WORLD_TEST_ON(Threads, OfOneRankTakeTurns, (std::vector<Shape>{{2, 1}, {2, 2}, {3, 3}})) {
  const auto memory = g.allocate(sizeof(std::uint64_t) * kThreads * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  os::Host& host = *g.implementation().host;
  std::vector<std::unique_ptr<os::Thread>> threads;
  for (std::size_t thread = 1; thread < kThreads; ++thread) {
    auto started = host.start("worker", {}, [&, thread] { work(g, *memory, next, thread); });
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    threads.push_back(std::move(*started));
  }
  work(g, *memory, next, 0);
  threads.clear();
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
