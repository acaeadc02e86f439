// Ranks that were started with other settings than the rest would wait for each other for ever: they are told at once.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "locks/settings.hpp"
#include "progress/settings.hpp"
#include "rma/settings.hpp"
#include "runtime/settings.hpp"
#include "sync/settings.hpp"

namespace grapnel::test {
namespace {

// The last rank sets things; how many ranks of the job are told so.
int told(const std::function<void(base::Config&)>& set, int nodes = 3) {
  sim::WorldOptions options{.ranks = 3, .nodes = nodes};
  std::atomic<int> told{0};
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    if (index(me.rank) == 2) set(foundation.config);
    auto started = runtime::assemble(std::move(foundation));
    if (started.ok()) {
      EXPECT_OK((*started)->finish());
    } else if (started.status().code() == Code::invalid_argument) {
      ++told;
    }
  });
  EXPECT_TRUE(outcome.ok() || nodes == 1)
      << outcome.report;  // where the others would wait until the launcher ends them
  return told;
}

TEST(Settings, ThoseThatMustBeAlikeAre) {
  EXPECT_EQ(told([](base::Config& config) { config.change<sync::Settings>().barrier = sync::BarrierKind::direct; }), 3);
  EXPECT_EQ(told([](base::Config& config) { config.change<sync::Settings>().barrier_fanout = 4; }), 3);
  EXPECT_EQ(told([](base::Config& config) { config.change<locks::Settings>().kind = LockKind::mcs; }), 3);
  EXPECT_EQ(told([](base::Config& config) { config.change<rma::Settings>().fence_window = 1; }), 3);
  EXPECT_EQ(told([](base::Config& config) { config.change<runtime::Settings>().stats = true; }), 3);
}

TEST(Settings, ThoseOfANodesRanksToo) {
  EXPECT_GE(told([](base::Config& config) { config.change<runtime::Settings>().stats = true; }, 1), 1);
}

// A node's memory grows with its ranks and the job's: 359 on one node were too many once.
TEST(Settings, AJobMayHaveManyRanks) {
  for (const auto& [ranks, nodes] : {std::pair{400, 1}, std::pair{600, 3}}) {
    const auto outcome = sim::run_world({.ranks = ranks, .nodes = nodes}, [&](sim::RankWorld& me) {
      auto started = runtime::assemble(foundation_of(me));
      if (!started.ok()) return ADD_FAILURE() << started.status().to_string(), void();
      EXPECT_OK((*started)->finish());
    });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
  }
}

TEST(Settings, OthersMayDiffer) {
  EXPECT_EQ(told([](base::Config& config) { config.change<progress::Settings>().spin_ns = 0; }), 0);
  EXPECT_EQ(told([](base::Config& config) { config.change<rma::Settings>().fence = rma::FenceKind::serial; }), 0);
  EXPECT_EQ(told([](base::Config& config) { config.change<progress::Settings>().window_bytes = 256 * base::kKiB; }), 0);
}

TEST(Settings, TheTransportOfTheTestsIsRefusedInAJob) {
  ASSERT_EQ(::setenv("GRAPNEL_TRANSPORT", "sim", 1), 0);
  const auto foundation = runtime::real_foundation();
  ::unsetenv("GRAPNEL_TRANSPORT");
  ASSERT_FALSE(foundation.ok());
  EXPECT_EQ(foundation.status().code(), Code::unavailable);
}

}  // namespace
}  // namespace grapnel::test
