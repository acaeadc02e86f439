// The same counts as in barrier_messages_test, over UCX between virtual nodes: processes, started once per plan.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/processes.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

std::uint64_t messages_of(const Runtime& g) {
  std::uint64_t sum = 0;
  for (const OperationCount& row : g.operation_counts()) {
    if (row.operation == "fence" || row.operation == "barrier") sum += row.wire_messages;
  }
  return sum;
}

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

// Every rank writes to that many others, several times so that no write asks for its own acknowledgement, and takes
// part in a barrier.
std::uint64_t one_barrier(Runtime& g, const Memory& memory, int targets, std::uint64_t value) {
  for (int step = 1; step <= targets; ++step) {
    const Rank to{(static_cast<int>(index(g.rank())) + step) % g.size()};
    for (int i = 0; i < 4; ++i) {
      EXPECT_OK(g.put(&value, static_cast<std::uint64_t*>(memory.on(to)) + index(g.rank()), sizeof value, to));
    }
  }
  const std::uint64_t before = messages_of(g);
  EXPECT_OK(g.barrier());
  const std::uint64_t messages = messages_of(g) - before;
  for (int step = 1; step <= targets; ++step) {
    const int from = (static_cast<int>(index(g.rank())) + g.size() - step) % g.size();
    EXPECT_GE(static_cast<std::uint64_t*>(memory.local())[from], value);
  }
  return messages;
}

}  // namespace

// In no world by itself: the tests below start it with the variables that it reads.
WORLD_TEST_ON(BarrierNodes, Body, {}) {
  const auto memory = g.allocate(8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  const bool first = g.rank() == Rank{0};
  const auto expected =
      static_cast<std::uint64_t>(number(first ? "GRAPNEL_TEST_MESSAGES_OF_FIRST" : "GRAPNEL_TEST_MESSAGES"));
  for (std::uint64_t round = 1; round <= 20; ++round) {
    EXPECT_EQ(one_barrier(g, *memory, number("GRAPNEL_TEST_TARGETS"), round), expected) << "round " << round;
  }
  EXPECT_OK(g.free(*memory));
}

namespace {

bool runs_nodes() {
  const char* worlds = std::getenv("GRAPNEL_TEST_WORLDS");
  return worlds == nullptr || std::string(worlds).find("nodes") != std::string::npos;
}

// Of every node, or of the first one and of every other one.
struct Messages {
  Messages(int of_each) : of_first(of_each), of_others(of_each) {}
  Messages(int first, int others) : of_first(first), of_others(others) {}
  int of_first, of_others;
};

void expect_messages(const std::string& plan, int nodes, int targets, Messages messages) {
  const Shape shape{nodes, nodes};
  const auto outcome = run_job(shape,
                               {{"GRAPNEL_TEST_BODY", "BarrierNodes.Body"},
                                {"GRAPNEL_BARRIER", plan},
                                {"GRAPNEL_NATIVE_RMA", "0"},
                                {"GRAPNEL_TEST_NATIVE", "0"},
                                {"GRAPNEL_TEST_TARGETS", std::to_string(targets)},
                                {"GRAPNEL_TEST_MESSAGES_OF_FIRST", std::to_string(messages.of_first)},
                                {"GRAPNEL_TEST_MESSAGES", std::to_string(messages.of_others)}},
                               {"/proc/self/exe"}, std::chrono::seconds(60));
  EXPECT_EQ(outcome.exit_code, 0) << plan << " on " << nodes << " nodes\n" << outcome.output;
  EXPECT_EQ(outcome.left_behind, "");
}

TEST(BarrierNodes, MessagesAreExact) {
  if (!runs_nodes()) GTEST_SKIP() << "not among GRAPNEL_TEST_WORLDS";
  for (const int n : {2, 4, 8}) {
    const int rounds = n == 2 ? 1 : n == 4 ? 2 : 3;
    expect_messages("clean", n, 0, rounds);
    expect_messages("clean", n, n - 1, 3 * rounds);  // a wrong guess
    expect_messages("exchange", n, n - 1, 2 * rounds);
    expect_messages("direct", n, n - 1, n - 1 + rounds);
    expect_messages("gather", n, n - 1, {2 * (n - 1), 2});
    expect_messages("few", n, 1, 2 + rounds);
    if (n > 2) expect_messages("few", n, 2, 4 + rounds);
    expect_messages("serial", n, n - 1, 2 * (n - 1) + rounds);
  }
}

}  // namespace
}  // namespace grapnel::test
