// Two servers lose the connection between them while no rank dies: a waiter for what was on its way waits for ever
// unless a server ends the job.
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>
#include <vector>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "progress/settings.hpp"
#include "sync/settings.hpp"

namespace grapnel::test {
namespace {

constexpr std::uint64_t kLong_ns = 4 * progress::ServerLinks::kGrace_ns;

// Ranks 1 and 3 meet by their servers, which are in the processes of ranks 0 and 2; the clients of these two lose their
// connections, too, but ask for nothing.
void meet_by_servers(sim::RankWorld& me, bool cut) {
  auto foundation = foundation_of(me);
  foundation.config.change<sync::Settings>().barrier = sync::BarrierKind::exchange;
  auto started = runtime::assemble(std::move(foundation));
  ASSERT_TRUE(started.ok());
  Runtime& g = **started;
  ASSERT_OK(g.barrier());
  if (index(g.rank()) % 2 == 0) {
    sim::pass_time(me.host, kLong_ns);
  } else {
    const auto pair = g.make_group(std::vector{Rank{1}, Rank{3}});
    ASSERT_TRUE(pair.ok());
    ASSERT_OK(g.barrier(*pair));  // the servers are connected
    if (cut && index(g.rank()) == 1) {
      me.world.network().cut(Rank{0}, Rank{2}, me.host);
      sim::pass_time(me.host, base::kMillisecond_ns);
    }
    EXPECT_OK(g.barrier(*pair));
  }
  EXPECT_OK((*started)->finish());
}

// A program that looks again and again instead of waiting gets the error, too.
void test_in_a_loop(sim::RankWorld& me, Code& told) {
  auto started = runtime::assemble(foundation_of(me));
  ASSERT_TRUE(started.ok());
  Runtime& g = **started;
  const auto memory = g.allocate(1 << 20);
  ASSERT_TRUE(memory.ok());
  ASSERT_OK(g.barrier());
  if (me.rank == Rank{1}) return sim::pass_time(me.host, kLong_ns);
  std::vector<std::byte> data(1 << 20);
  Handle handle;
  ASSERT_OK(g.start_get(memory->on(Rank{1}), data.data(), data.size(), Rank{1}, &handle));
  me.world.network().cut(Rank{0}, Rank{1}, me.host);
  Result<bool> done = false;
  for (int looks = 0; looks < 1'000'000 && done.ok() && !*done; ++looks) {
    done = g.test(handle);
    sim::pass_time(me.host, base::kMicrosecond_ns);
  }
  told = done.status().code();
}

TEST(LostLink, EndsALoopOfTests) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    sim::WorldOptions options{.ranks = 2, .nodes = 2};
    options.seed(seed);
    Code told = Code::ok;
    static_cast<void>(sim::run_world(options, [&told](sim::RankWorld& me) { test_in_a_loop(me, told); }));
    EXPECT_EQ(told, Code::peer_dead) << "seed " << seed;
  }
}

os::SimOutcome world_of_four(std::uint64_t seed, bool cut) {
  sim::WorldOptions options{.ranks = 4, .nodes = 2};
  options.seed(seed);
  return sim::run_world(options, [cut](sim::RankWorld& me) { meet_by_servers(me, cut); });
}

TEST(LostLink, EndsTheJobAndSaysWhich) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto outcome = world_of_four(seed, true);
    EXPECT_NE(outcome.report.find("the connection between the servers of nodes "), std::string::npos) << outcome.report;
    EXPECT_LT(outcome.virtual_ns, kLong_ns);
  }
}

// ---- heartbeats ----

constexpr std::uint64_t kBeat_ns = base::kSecond_ns;

std::uint64_t row(const Runtime& g, const std::string& name) {
  for (const OperationCount& row : g.operation_counts()) {
    if (row.operation == name) return row.wire_messages;
  }
  ADD_FAILURE() << "there is no row " << name;
  return 0;
}

// Each rank on a node of its own; all are at a barrier when `act` is called, by rank 2, and meet there again.
os::SimOutcome watched(int ranks, std::uint64_t seed, const std::function<void(sim::RankWorld&, Runtime&)>& act) {
  sim::WorldOptions options{.ranks = ranks, .nodes = ranks};
  options.seed(seed);
  options.network.detects_dead_peers = false;  // as a host that loses its power: no connection breaks
  return sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    foundation.config.change<progress::Settings>().heartbeat_ms = kBeat_ns / base::kMillisecond_ns;
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok());
    ASSERT_OK((*started)->barrier());
    sim::pass_time(me.host, 2 * kBeat_ns);
    if (me.rank == Rank{2}) act(me, **started);
    EXPECT_OK((*started)->barrier());
    EXPECT_OK((*started)->finish());
  });
}

TEST(LostHost, IsNamedByAllWithinTenBeats) {
  for (const int ranks : {3, 4, 7}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      std::uint64_t stopped_ns = 0;
      const auto outcome = watched(ranks, seed, [&](sim::RankWorld& me, Runtime&) {
        stopped_ns = me.host.now_ns();
        me.world.scheduler().stop_process(me.host);
      });
      EXPECT_NE(outcome.report.find("(node 2, rank 2): no heartbeat from its server for 6 s"), std::string::npos)
          << outcome.report;
      EXPECT_LT(outcome.virtual_ns - stopped_ns, 10 * kBeat_ns) << ranks << " ranks, seed " << seed;
      EXPECT_GT(outcome.virtual_ns - stopped_ns, 5 * kBeat_ns);
    }
  }
}

// It continues sending, but nothing reaches it any more.
TEST(LostHost, EndsItselfWhereItIsCutOff) {
  const auto outcome = watched(4, 1, [&](sim::RankWorld& me, Runtime&) { me.world.network().kill(me.rank, me.host); });
  EXPECT_NE(outcome.report.find("(node 2, rank 2) has lost the others: no heartbeat from"), std::string::npos)
      << outcome.report;
}

TEST(LostHost, IsNoneWhereServersBeatAndNothingElseCountsIt) {
  std::uint64_t beats = 0, barriers = 0, before = 0;
  const auto outcome = watched(4, 1, [&](sim::RankWorld& me, Runtime& g) {
    before = row(g, "barrier");
    sim::pass_time(me.host, 30 * kBeat_ns);
    barriers = row(g, "barrier") - before;
    beats = row(g, "heartbeat");
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_GE(beats, 2 * 30U);
  EXPECT_LE(beats, 2 * 33U);
  EXPECT_EQ(barriers, 0U);
}

TEST(LostHost, SoundWordsOnlyEndAJob) {
  using progress::HeartbeatBody;
  const HeartbeatBody good = progress::make_heartbeat(HeartbeatBody::lost, NodeId{1}, 7);
  EXPECT_TRUE(progress::is_sound(good, 3, 7));
  EXPECT_FALSE(progress::is_sound(good, 3, 8)) << "another job's";
  EXPECT_FALSE(progress::is_sound(good, 1, 7)) << "no such node";
  for (int bit = 0; bit < 128; ++bit) {
    HeartbeatBody bad = good;
    reinterpret_cast<unsigned char*>(&bad)[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    EXPECT_FALSE(progress::is_sound(bad, 3, 7)) << "bit " << bit;
  }
}

TEST(LostLink, IsNoneWhereAllFinish) {
  const auto outcome = world_of_four(1, false);
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_GT(outcome.virtual_ns, kLong_ns);
}

}  // namespace
}  // namespace grapnel::test
