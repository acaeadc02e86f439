// The in-process launcher under both ways to run: exchange, node memory, descriptors, deaths and aborts.
// SPDX-License-Identifier: Apache-2.0
#include "launch/inproc.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/codec.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::sim {
namespace {

constexpr int kRankCounts[] = {1, 2, 3, 5, 8};
constexpr int kNodeCounts[] = {1, 2, 3, 5};

std::string text_of(const Result<Bytes>& bytes) {
  if (!bytes.ok()) return bytes.status().to_string();
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

ByteView view_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string value_of(std::size_t rank, int round) { return fmt::format("{} in round {}", rank, round); }

void exchange_rounds(RankWorld& me) {
  for (int round = 0; round < 3; ++round) {
    const std::string key = fmt::format("key {}", round);
    ASSERT_TRUE(me.launch.publish(key, view_of(value_of(index(me.rank), round))).ok());
    ASSERT_TRUE(me.launch.fence().ok());
    for (int other = 0; other < me.launch.size(); ++other) {
      EXPECT_EQ(text_of(me.launch.lookup(static_cast<Rank>(other), key)),
                value_of(static_cast<std::size_t>(other), round));
    }
    EXPECT_EQ(me.launch.lookup(me.rank, "never published").status().code(), Code::unavailable);
  }
  EXPECT_TRUE(me.launch.finalize().ok());
}

// Every rank of a node writes its own word; after the fence all see all, and ranks of other nodes nothing of it.
void share_node_memory(RankWorld& me) {
  const auto words =
      me.launch.node_memory().carve<std::atomic<std::uint64_t>>(static_cast<std::size_t>(me.launch.size()));
  EXPECT_EQ(words[index(me.rank)].exchange(index(me.rank) + 1), 0u);
  ASSERT_TRUE(me.launch.fence().ok());
  for (std::size_t other = 0; other < words.size(); ++other) {
    const bool same_node = me.launch.nodes().node_of[other] == me.launch.node();
    EXPECT_EQ(words[other].load(), same_node ? other + 1 : 0u);
  }
  ASSERT_TRUE(me.launch.fence().ok());
}

// The leader sends each rank of its node two files; they are asked for in the other order.
void pass_descriptors(RankWorld& me) {
  const auto& mates = me.launch.nodes().ranks_of[index(me.launch.node())];
  if (me.launch.leads_node()) {
    for (const std::size_t bytes : {100u, 200u}) {
      const auto file = os::create_shared_file("test", bytes);
      ASSERT_TRUE(file.ok()) << file.status().to_string();
      for (const Rank mate : mates) EXPECT_TRUE(me.launch.send_descriptor(mate, bytes, *file).ok());
    }
  }
  for (const std::size_t bytes : {200u, 100u}) {
    const auto file = me.launch.receive_descriptor(bytes);
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    struct stat state {};
    ASSERT_EQ(::fstat(file->number(), &state), 0);
    EXPECT_EQ(static_cast<std::size_t>(state.st_size), bytes);
  }
}

void all_of_it(RankWorld& me) {
  exchange_rounds(me);
  share_node_memory(me);
  pass_descriptors(me);
}

TEST(Inproc, ExchangeInEveryShape) {
  for (const int ranks : kRankCounts) {
    for (const int nodes : kNodeCounts) {
      for (const std::uint64_t seed : seeds(5)) {
        const auto outcome = run_world(WorldOptions{.ranks = ranks, .nodes = nodes}.seed(seed), all_of_it);
        ASSERT_TRUE(outcome.ok()) << ranks << " ranks, " << nodes << " nodes\n" << outcome.report;
      }
    }
  }
}

TEST(Inproc, ExchangeFreeRunning) {
  for (const int ranks : kRankCounts) {
    for (const int nodes : kNodeCounts) {
      EXPECT_TRUE(run_world(WorldOptions{.ranks = ranks, .nodes = nodes}.free_running(), all_of_it).ok());
    }
  }
}

TEST(Inproc, NothingIsVisibleBeforeTheFence) {
  const auto outcome = run_world({.ranks = 2}, [](RankWorld& me) {
    ASSERT_TRUE(me.launch.publish("key", view_of("value")).ok());
    for (const Rank other : {Rank{0}, Rank{1}}) EXPECT_FALSE(me.launch.lookup(other, "key").ok());
    ASSERT_TRUE(me.launch.fence().ok());
    EXPECT_EQ(text_of(me.launch.lookup(Rank{0}, "key")), "value");
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
}

TEST(Inproc, DescriptorsStayOnTheirNode) {
  const auto outcome = run_world({.ranks = 2, .nodes = 2}, [](RankWorld& me) {
    const os::Descriptor none;
    const auto other = static_cast<Rank>(1 - index(me.rank));
    EXPECT_EQ(me.launch.send_descriptor(other, 1, none).code(), Code::invalid_argument);
    const auto nothing = me.launch.receive_descriptor(1);  // 30 s of virtual time
    EXPECT_EQ(nothing.status().code(), Code::timed_out);
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_GE(outcome.virtual_ns, 30 * base::kSecond_ns);
}

TEST(Inproc, ADeathIsNoticedByEverybody) {
  for (const std::uint64_t seed : seeds(20)) {
    WorldOptions options{.ranks = 4, .nodes = 2, .kills = {{Rank{2}, 3 * base::kMillisecond_ns}}};
    int survivors = 0;
    const auto outcome = run_world(options.seed(seed), [&](RankWorld& me) {
      Status status;
      while (status.ok()) {
        status = me.launch.fence();
        pass_time(me.host, base::kMillisecond_ns);
      }
      EXPECT_EQ(status.code(), Code::peer_dead);
      EXPECT_EQ(status.message(), "rank 2 has died");
      EXPECT_NE(me.rank, Rank{2});
      ++survivors;
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    EXPECT_EQ(survivors, 3);
    EXPECT_LT(outcome.virtual_ns, base::kSecond_ns);
  }
}

TEST(Inproc, AnAbortEndsTheWorldAndNamesTheRank) {
  const auto outcome = run_world(WorldOptions{.ranks = 3}.seed(8), [](RankWorld& me) {
    if (me.rank == Rank{1}) me.launch.abort(5, "no more paper");
    [[maybe_unused]] const Status never = me.launch.fence();
  });
  EXPECT_EQ(outcome.ending, os::SimEnding::ended);
  EXPECT_NE(outcome.report.find("rank 1 aborts the job (exit code 5): no more paper"), std::string::npos)
      << outcome.report;
  EXPECT_NE(outcome.report.find("GRAPNEL_TEST_SEED=8"), std::string::npos) << outcome.report;
}

}  // namespace
}  // namespace grapnel::sim
