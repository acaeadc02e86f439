// The schedules of a barrier, for every number of nodes: who learns of whom, and how many messages it takes.
// SPDX-License-Identifier: Apache-2.0
#include "sync/barrier/schedule.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "sync/barrier/plan.hpp"

namespace grapnel::sync {
namespace {

// How often each node's own value is in a sum.
using Sum = std::map<std::uint32_t, int>;

void add(Sum& sum, const Sum& other) {
  for (const auto& [node, times] : other) sum[node] += times;
}

struct Node {
  Sum small, large;
};

Node after_round(const std::vector<Node>& nodes, std::size_t me, const DisseminationRound& round) {
  Node next{round.own_large ? nodes[me].large : nodes[me].small, {}};
  for (const auto& part : round.parts) {
    const Node& other = nodes[(me + part.offset) % nodes.size()];
    if (!part.last) {
      add(next.small, part.large ? other.large : other.small);
      continue;
    }
    next.large = next.small;
    if (part.small) add(next.small, other.small);
    if (part.large) add(next.large, other.large);
  }
  return next;
}

std::uint32_t logarithm(std::uint32_t number, std::uint32_t base) {
  std::uint32_t rounds = 0;
  for (std::uint64_t reach = 1; reach < number; reach *= base) ++rounds;
  return rounds;
}

TEST(Dissemination, SumsEveryNodeExactlyOnce) {
  for (std::uint32_t fanout = 2; fanout <= 6; ++fanout) {
    for (std::uint32_t count = 1; count <= 70; ++count) {
      SCOPED_TRACE(fmt::format("{} nodes, fanout {}", count, fanout));
      std::vector<Node> nodes(count);
      for (std::uint32_t i = 0; i < count; ++i) nodes[i].large[i] = 1;
      const auto rounds = dissemination(count, fanout);
      EXPECT_EQ(rounds.size(), logarithm(count, fanout));
      std::vector<std::size_t> messages, counted;
      for (const auto& round : rounds) messages.push_back(round.parts.size());
      for_each_round(count, fanout, [&](std::uint32_t in_round) { counted.push_back(in_round); });
      EXPECT_EQ(counted, messages);
      for (const auto& round : rounds) {
        EXPECT_LE(round.parts.size(), fanout - 1);
        std::vector<Node> next;
        for (std::size_t i = 0; i < count; ++i) next.push_back(after_round(nodes, i, round));
        nodes = next;
      }
      for (const Node& node : nodes) {
        ASSERT_EQ(node.large.size(), count);
        for (const auto& [from, times] : node.large) ASSERT_EQ(times, 1) << "node " << from;
      }
    }
  }
}

TEST(Dissemination, TakesOneMessagePerRound) {
  for (std::uint32_t count = 2; count <= 300; ++count) {
    for (const auto& round : dissemination(count, 2)) {
      ASSERT_EQ(round.parts.size(), 1U) << count;
      ASSERT_NE(round.parts[0].offset % count, 0U) << count;  // no node sends to itself
    }
  }
}

TEST(ReduceScatter, EveryNumberArrivesOnce) {
  for (std::uint32_t count = 1; count <= 70; ++count) {
    // numbers[i][o]: what node i holds for node i+o, as the set of nodes that it came from.
    std::vector<std::vector<Sum>> numbers(count, std::vector<Sum>(count));
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t o = 1; o < count; ++o) numbers[i][o][i] = 1;
    }
    const auto distances = reduce_scatter(count);
    EXPECT_EQ(distances.size(), logarithm(count, 2));
    for (const std::uint32_t distance : distances) {
      auto next = numbers;
      for (std::uint32_t i = 0; i < count; ++i) {
        next[i].resize(distance);
        const auto& theirs = numbers[(i + count - distance) % count];
        for (std::uint32_t o = distance; o < theirs.size(); ++o) add(next[i][o - distance], theirs[o]);
      }
      numbers = next;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(numbers[i][0].size(), count - 1);
      for (const auto& [from, times] : numbers[i][0]) ASSERT_EQ(times, 1) << from;
    }
  }
}

TEST(Gather, EveryNodeIsInItsParentsRun) {
  for (std::uint32_t count = 1; count <= 300; ++count) {
    for (std::uint32_t me = 0; me < count; ++me) {
      const GatherPlace place = gather_place(count, me);
      ASSERT_EQ(place.root, me == 0);
      ASSERT_EQ(place.mine.first, me);
      std::uint32_t next = me + 1;
      for (const auto& child : place.children) {
        ASSERT_EQ(child.first, next);
        ASSERT_LT(child.first, child.end);
        ASSERT_EQ(gather_place(count, child.first).parent, me);
        ASSERT_EQ(gather_place(count, child.first).mine.end, child.end);
        next = child.end;
      }
      ASSERT_EQ(next, place.mine.end);
      ASSERT_LE(place.children.size(), kGatherFanout);
    }
  }
}

TEST(Gather, HasAsManyLevelsAsItsFarthestNodeHasForebears) {
  for (std::uint32_t count = 1; count <= 300; ++count) {
    std::uint32_t farthest = 0;
    for (std::uint32_t me = 0; me < count; ++me) {
      std::uint32_t forebears = 0;
      for (GatherPlace place = gather_place(count, me); !place.root; place = gather_place(count, place.parent)) {
        ++forebears;
      }
      farthest = std::max(farthest, forebears);
    }
    ASSERT_EQ(levels_of_gather(count), farthest) << count;
  }
}

// ---- the choice ----

BarrierTotals totals(std::uint32_t dirty, std::uint32_t cost_ns, std::uint32_t delay_ns) {
  return {.dirty = dirty, .most_dirty = dirty, .message_cost_ns = cost_ns, .delay_ns = delay_ns};
}

TEST(Plan, FollowsWhatTheLastBarrierSaw) {
  const Terms eight{.nodes = 8};
  EXPECT_EQ(next_plan(totals(0, 1000, 1000), eight), BarrierPlan::clean);
  // A long way: the shortest path. Dear messages: the fewest. Few targets and dear messages: the fence.
  EXPECT_EQ(next_plan(totals(7, 1000, 5'000'000), eight), BarrierPlan::direct);
  EXPECT_EQ(next_plan(totals(7, 100'000, 1000), eight), BarrierPlan::exchange);
  EXPECT_EQ(next_plan(totals(1, 100'000, 1000), eight), BarrierPlan::few);
}

// Where nodes take turns on the processors it is the sum of all messages that counts.
TEST(Plan, GathersWhereNodesShareProcessors) {
  const Terms eight{.nodes = 8};
  BarrierTotals crowded = totals(7, 20'000, 10'000);
  EXPECT_NE(next_plan(crowded, eight), BarrierPlan::gather);
  crowded.crowd_percent = 100;
  EXPECT_NE(next_plan(crowded, eight), BarrierPlan::gather);
  crowded.crowd_percent = 400;
  EXPECT_EQ(next_plan(crowded, eight), BarrierPlan::gather);
  // Of four nodes the others have hardly more messages, and no root that all wait for.
  crowded.crowd_percent = 200;
  EXPECT_NE(next_plan(crowded, {.nodes = 4}), BarrierPlan::gather);
}

TEST(Plan, IsTheCheapestOfTheEstimates) {
  for (const std::uint32_t nodes : {2U, 3U, 8U, 64U, 1000U}) {
    for (const std::uint32_t dirty : {1U, 2U, 7U}) {
      for (const std::uint32_t cost : {100U, 10'000U}) {
        for (const std::uint32_t delay : {100U, 1'000'000U}) {
          const BarrierTotals seen = totals(dirty, cost, delay);
          const double best = estimated_ns(next_plan(seen, {.nodes = nodes}), seen, {.nodes = nodes});
          for (const auto other : {BarrierPlan::few, BarrierPlan::exchange, BarrierPlan::direct}) {
            EXPECT_LE(best, estimated_ns(other, seen, {.nodes = nodes}));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace grapnel::sync
