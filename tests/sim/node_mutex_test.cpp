// The mutex of a node's ranks: it excludes them, and lets the waiters go when its holder dies.
// SPDX-License-Identifier: Apache-2.0
#include "launch/node_mutex.hpp"

#include <gtest/gtest.h>

#include "base/units.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::sim {
namespace {

struct Words {
  os::Word lock;
  os::Word inside;
  std::uint64_t turns;  ///< no atomic: the mutex orders it
};

TEST(NodeMutex, AdmitsOneRankAtATime) {
  constexpr std::uint64_t kTurns = 50;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto outcome = run_world(WorldOptions{.ranks = 5}.seed(seed), [](RankWorld& me) {
      Words& words = me.launch.node_memory().carve<Words>(1).front();
      launch::NodeMutex mutex(me.launch, me.host, words.lock);
      for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
        const auto guard = mutex.lock();
        ASSERT_TRUE(guard.ok());
        EXPECT_EQ(words.inside.fetch_add(1), 0U);
        if (turn % 8 == 0) me.host.relax();  // others run, and find it held
        ++words.turns;
        words.inside.fetch_sub(1);
      }
      ASSERT_TRUE(me.launch.fence().ok());
      EXPECT_EQ(words.turns, 5 * kTurns);
    });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
  }
}

TEST(NodeMutex, ADeadHoldersWaitersAnswerItsDeath) {
  int waiters = 0;
  const auto outcome = run_world({.ranks = 3, .kills = {{Rank{1}, 3 * base::kMillisecond_ns}}}, [&](RankWorld& me) {
    Words& words = me.launch.node_memory().carve<Words>(1).front();
    launch::NodeMutex mutex(me.launch, me.host, words.lock);
    if (me.rank == Rank{1}) {
      const auto guard = mutex.lock();
      words.inside.store(1);
      for (;;) me.host.wait(words.inside, 1, base::kSecond_ns);
    }
    while (words.inside.load() == 0) me.host.relax();
    const auto guard = mutex.lock();
    EXPECT_EQ(guard.status().code(), Code::peer_dead);
    ++waiters;
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(waiters, 2);
}

}  // namespace
}  // namespace grapnel::sim
