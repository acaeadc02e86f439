// What a barrier costs: messages per node and delays on its path, for each plan and number of nodes, exactly.
//
// One rank per node; before each barrier every rank has written to as many other nodes as the test states, more often
// than a write would ask for its own acknowledgement. Time is virtual: a message takes kDelay_ns and everything else
// next to nothing.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "launch/group.hpp"
#include "sync/settings.hpp"

namespace grapnel::test {
namespace {

using sync::BarrierKind;

constexpr std::uint64_t kDelay_ns = base::kMillisecond_ns;

struct Case {
  BarrierKind kind{};
  int nodes = 2;
  int targets = 0;      ///< of each rank's writes
  bool fenced = false;  ///< the writes are, before the barrier
  std::uint32_t fanout = 2;
  std::size_t processors = 16;  ///< of the machine that all nodes are on
};

struct Cost {
  std::uint64_t messages = 0;
  double delays = 0;
};

std::uint64_t messages_of(const Runtime& g) {
  std::uint64_t sum = 0;
  for (const OperationCount& row : g.operation_counts()) {
    if (row.operation == "fence" || row.operation == "barrier") sum += row.wire_messages;
  }
  return sum;
}

void write_to(Runtime& g, const Memory& memory, int targets, std::uint64_t value) {
  for (int step = 1; step <= targets; ++step) {
    const Rank to{(static_cast<int>(index(g.rank())) + step) % g.size()};
    for (int i = 0; i < 4; ++i) {
      EXPECT_OK(g.put(&value, static_cast<std::uint64_t*>(memory.on(to)) + index(g.rank()), sizeof value, to));
    }
  }
}

// Until the next full 100 ms: all ranks go on at the same virtual time.
void line_up(os::Host& host) {
  constexpr std::uint64_t kStep_ns = 100 * base::kMillisecond_ns;
  sim::pass_time(host, kStep_ns - host.now_ns() % kStep_ns);
}

void run_rank(sim::RankWorld& me, const Case& what, Cost& cost) {
  auto foundation = foundation_of(me);
  foundation.config.change<sync::Settings>().barrier = what.kind;
  foundation.config.change<sync::Settings>().barrier_fanout = what.fanout;
  auto started = runtime::assemble(std::move(foundation));
  ASSERT_TRUE(started.ok());
  Runtime& g = **started;
  const auto memory = g.allocate(8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  for (std::uint64_t round = 1; round <= 3; ++round) {  // the first ones connect
    line_up(me.host);
    write_to(g, *memory, what.targets, round);
    if (what.fenced) EXPECT_OK(g.fence_all());
    if (what.fenced) line_up(me.host);
    const std::uint64_t before = messages_of(g), begin_ns = me.host.now_ns();
    EXPECT_OK(g.barrier());
    cost.messages = messages_of(g) - before;
    cost.delays = static_cast<double>(me.host.now_ns() - begin_ns) / static_cast<double>(kDelay_ns);
    for (int step = 1; step <= what.targets; ++step) {
      const auto from =
          (index(g.rank()) + static_cast<std::size_t>(g.size() - step)) % static_cast<std::size_t>(g.size());
      EXPECT_EQ(static_cast<std::uint64_t*>(memory->local())[from], round);
    }
  }
  EXPECT_OK(g.free(*memory));
  EXPECT_OK(g.finish());
}

// Of every node.
std::vector<Cost> costs_of(const Case& what) {
  sim::WorldOptions options{.ranks = what.nodes, .nodes = what.nodes};
  options.network.delay_ns = kDelay_ns;
  options.machine.processors = what.processors;
  std::vector<Cost> costs(static_cast<std::size_t>(what.nodes));
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) { run_rank(me, what, costs[index(me.rank)]); });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  return costs;
}

void expect_cost(const Case& what, int messages, int delays) {
  SCOPED_TRACE(fmt::format("{} nodes, {} targets", what.nodes, what.targets));
  for (const Cost& cost : costs_of(what)) {
    EXPECT_EQ(cost.messages, static_cast<std::uint64_t>(messages));
    // Beside the delays there are the turns of the nodes' threads; a round too many would be a whole delay.
    EXPECT_NEAR(cost.delays, delays, 0.02 * delays + 0.015 * what.nodes);
  }
}

int rounds_of(int nodes) {
  int rounds = 0;
  while (1 << rounds < nodes) ++rounds;
  return rounds;
}

constexpr int kNodes[] = {2, 3, 4, 7, 8, 16};

TEST(BarrierMessages, Clean) {
  for (const int n : kNodes) {
    const int l = rounds_of(n);
    expect_cost({BarrierKind::clean, n, 0}, l, l);
    expect_cost({BarrierKind::clean, n, n - 1, true}, l, l);
  }
}

TEST(BarrierMessages, AWrongGuessOfCleanCostsOneMoreDissemination) {
  for (const int n : kNodes) {
    const int l = rounds_of(n);
    expect_cost({BarrierKind::clean, n, n - 1}, 3 * l, 3 * l);
    expect_cost({BarrierKind::clean, n, 1}, 3 * l, 3 * l);
  }
}

TEST(BarrierMessages, Exchange) {
  for (const int n : kNodes) {
    const int l = rounds_of(n);
    expect_cost({BarrierKind::exchange, n, n - 1}, 2 * l, 2 * l);
    expect_cost({BarrierKind::exchange, n, 0}, 2 * l, 2 * l);
  }
}

TEST(BarrierMessages, Direct) {
  for (const int n : kNodes) {
    const int l = rounds_of(n);
    expect_cost({BarrierKind::direct, n, n - 1}, n - 1 + l, 1 + l);
  }
}

// Fewest of all in sum, but one node has as many as all the others together.
void expect_gather(const Case& what) {
  SCOPED_TRACE(fmt::format("{} nodes", what.nodes));
  const int levels = what.nodes <= 9 ? 1 : 2;
  std::uint64_t messages = 0;
  double delays = 0;
  for (const Cost& cost : costs_of(what)) {
    messages += cost.messages;
    delays = std::max(delays, cost.delays);
  }
  EXPECT_EQ(messages, static_cast<std::uint64_t>(4 * (what.nodes - 1)));
  EXPECT_NEAR(delays, 4 * levels, 0.05 * 4 * levels);
}

TEST(BarrierMessages, Gather) {
  for (const int n : kNodes) expect_gather({BarrierKind::gather, n, n - 1});
}

TEST(BarrierMessages, Few) {
  for (const int n : kNodes) {
    const int l = rounds_of(n);
    for (const int k : {1, 2}) {
      if (k < n) expect_cost({BarrierKind::few, n, k}, 2 * k + l, 2 + l);
    }
    expect_cost({BarrierKind::few, n, 0}, l, l);
  }
}

TEST(BarrierMessages, SerialFenceThenDissemination) {
  for (const int n : kNodes) {
    const int l = rounds_of(n);
    expect_cost({BarrierKind::serial, n, n - 1}, 2 * (n - 1) + l, 2 * (n - 1) + l);
  }
}

TEST(BarrierMessages, AFanoutTakesFewerRounds) {
  expect_cost({BarrierKind::clean, 16, 0, false, 4}, 6, 2);
  expect_cost({BarrierKind::clean, 8, 0, false, 8}, 7, 1);
}

// The first barriers guess; then the plan is the one that pays under this delay, and every rank's is the same.
TEST(BarrierMessages, TheChoiceSettles) {
  expect_cost({BarrierKind::automatic, 8, 7}, 7 + 3, 1 + 3);  // direct
  expect_cost({BarrierKind::automatic, 8, 0}, 3, 3);          // clean
}

// Nor need the leaders of its nodes be members, or the world have had a barrier.
TEST(BarrierMessages, AGroupWithoutLeadersKnowsTheDelay) {
  sim::WorldOptions options{.ranks = 6, .nodes = 3};
  options.network.delay_ns = 5 * base::kMillisecond_ns;
  const auto outcome = sim::run_world(options, [](sim::RankWorld& me) {
    auto started = runtime::assemble(foundation_of(me));
    ASSERT_TRUE(started.ok());
    Runtime& g = **started;
    const auto memory = g.allocate(8 * static_cast<std::size_t>(g.size()));
    ASSERT_TRUE(memory.ok());
    if (index(me.rank) % 2 == 1) {
      const Rank members[] = {Rank{1}, Rank{3}, Rank{5}};
      const auto group = g.make_group(members);
      ASSERT_TRUE(group.ok());
      write_to(g, *memory, 4, 1);
      EXPECT_OK(g.barrier(*group));
      // One delay less than an exchange, which it would be if nothing took time.
      EXPECT_EQ(g.implementation().barriers->plan_of(*group->known()), sync::BarrierPlan::direct);
    }
    EXPECT_OK(g.finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
}

// Where eight nodes share two processors the sum of all messages counts.
TEST(BarrierMessages, TheChoiceMindsACrowd) { expect_gather({BarrierKind::automatic, 8, 7, false, 2, 2}); }

}  // namespace
}  // namespace grapnel::test
