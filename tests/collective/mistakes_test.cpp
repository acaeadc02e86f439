// Members that call different collectives, and a member that dies in one: named, and all end.
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "grapnel/reduction.hpp"
#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/processes.hpp"
#include "harness/world.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

const std::vector<Shape> kShapes = {{3, 1}, {3, 2}, {3, 3}};
constexpr Rank kOdd{1};  // the one that errs, or dies

Reduction integers(Operation operation) { return reduction(operation, NumberType::int64).value(); }

ProcessOutcome run_body(Shape shape, const std::string& body, const std::string& mistake) {
  return run_job(shape, {{"GRAPNEL_TEST_BODY", "CollectiveBody." + body}, {"GRAPNEL_TEST_MISTAKE", mistake}},
                 {"/proc/self/exe"}, std::chrono::seconds(60));
}

void expect_named(Shape shape, const std::string& mistake, const std::string& body = "OneErrs") {
  const ProcessOutcome outcome = run_body(shape, body, mistake);
  SCOPED_TRACE(mistake + " on " + std::to_string(shape.nodes) + " nodes: " + outcome.output);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(outcome.left_behind, "");
  EXPECT_TRUE(std::regex_search(
      outcome.output, std::regex("collective calls of one group differ: (rank [0-2] called [a-z]+ .*, rank [0-2] |"
                                 "in its [a-z]+ rank [0-2] sent [0-9]+ bytes where rank [0-2] wants)")));
}

TEST(CollectiveMistakes, AreNamed) {
  for (const Shape shape : kShapes) {
    for (const char* const mistake : {"count", "operation", "kind"}) expect_named(shape, mistake);
  }
  expect_named({3, 1}, "root");
}

TEST(CollectiveMistakes, AreNamedWhereDataIsLong) {
  for (const Shape shape : kShapes) {
    for (const char* const mistake : {"count", "operation", "kind", "shorter", "sends less", "wants less"}) {
      expect_named(shape, mistake, "OneErrsInLongData");
    }
  }
}

TEST(CollectiveMistakes, AreNamedWhereCallsAreStarted) {
  for (const Shape shape : kShapes) {
    for (const char* const mistake : {"count", "operation", "kind", "root", "length"}) {
      expect_named(shape, mistake, "OneStartsAnother");
      expect_named(shape, mistake, "OneStartsAnotherOfLongData");
    }
    expect_named(shape, "shorter", "OneStartsAnotherOfLongData");
  }
  expect_named({3, 3}, "blocking", "OneStartsAnother");
}

TEST(CollectiveDeath, EndsTheJob) {
  for (const Shape shape : kShapes) {
    const ProcessOutcome outcome = run_body(shape, "OneDies", "");
    SCOPED_TRACE(outcome.output);
    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
    EXPECT_EQ(outcome.left_behind, "");
    EXPECT_NE(outcome.output.find("rank 1 was killed by signal 9"), std::string::npos);
  }
}

// Also in the middle of long data: a put, a wait for room, a wait for a piece.
void exchange_until_one_dies(sim::RankWorld& me, Status& answer) {
  auto started = runtime::assemble(foundation_of(me));
  ASSERT_TRUE(started.ok()) << started.status().to_string();
  Runtime& g = **started;
  std::vector<std::int64_t> x(200'000, 1), y(x.size());
  while (answer.ok()) {
    answer = g.allreduce(integers(Operation::sum), x.data(), y.data(), x.size());
    if (answer.ok()) answer = g.broadcast(x.data(), 8 * x.size(), Rank{0});
    if (answer.ok()) answer = g.alltoall(x.data(), y.data(), 8 * x.size() / 3);
  }
}

TEST(CollectiveDeath, IsToldToThoseThatMoveLongData) {
  for (const Shape shape : kShapes) {
    for (const std::uint64_t after_us : {20'000, 20'700, 21'500, 23'100, 26'000}) {
      std::vector<Status> answers(static_cast<std::size_t>(shape.ranks));
      sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
      options.seed(after_us);
      options.kills = {{kOdd, after_us * base::kMicrosecond_ns}};
      const auto outcome =
          sim::run_world(options, [&](sim::RankWorld& me) { exchange_until_one_dies(me, answers[index(me.rank)]); });
      EXPECT_TRUE(outcome.ok()) << outcome.report;
      for (const std::size_t waiter : {0, 2}) EXPECT_CODE(Code::peer_dead, answers[waiter]);
    }
  }
}

void wait_for_the_dead(sim::RankWorld& me, bool started_one, Status& answer) {
  auto started = runtime::assemble(foundation_of(me));
  ASSERT_TRUE(started.ok()) << started.status().to_string();
  Runtime& g = **started;
  std::int64_t x = 1;
  EXPECT_OK(g.allreduce(integers(Operation::sum), &x, &x, 1));
  if (me.rank == kOdd) {
    sim::pass_time(me.host, 10 * base::kSecond_ns);
    return;
  }
  if (started_one) {
    auto call = g.start_allreduce(integers(Operation::sum), &x, &x, 1);
    answer = call ? call->wait() : call.status();
  } else {
    answer = g.allreduce(integers(Operation::sum), &x, &x, 1);
  }
}

void expect_peer_dead(bool started_one) {
  for (const Shape shape : kShapes) {
    std::vector<Status> answers(static_cast<std::size_t>(shape.ranks));
    sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
    options.seed(7);
    options.kills = {{kOdd, 50 * base::kMillisecond_ns}};
    const auto outcome = sim::run_world(
        options, [&](sim::RankWorld& me) { wait_for_the_dead(me, started_one, answers[index(me.rank)]); });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
    for (const std::size_t waiter : {0, 2}) EXPECT_CODE(Code::peer_dead, answers[waiter]);
  }
}

TEST(CollectiveDeath, IsToldToThoseThatWait) { expect_peer_dead(false); }
TEST(CollectiveDeath, IsToldToThoseThatWaitForAStartedCall) { expect_peer_dead(true); }

}  // namespace

// In no world of its own: what the ranks of a CollectiveMistakes do.
WORLD_TEST_ON(CollectiveBody, OneErrs, std::vector<Shape>{}) {
  const char* const given = std::getenv("GRAPNEL_TEST_MISTAKE");
  const std::string mistake = g.rank() == kOdd && given != nullptr ? given : "";
  std::int64_t x[3] = {1, 1, 1}, y[3] = {};
  const Reduction sum = integers(Operation::sum);
  if (given == std::string("root")) {
    ASSERT_OK(g.broadcast(x, sizeof x, mistake.empty() ? Rank{0} : Rank{2}));
  } else if (mistake == "count") {
    ASSERT_OK(g.allreduce(sum, x, y, 2));
  } else if (mistake == "operation") {
    ASSERT_OK(g.allreduce(integers(Operation::maximum), x, y, 1));
  } else if (mistake == "kind") {
    ASSERT_OK(g.allgather(x, y, sizeof x[0]));
  } else {
    ASSERT_OK(g.allreduce(sum, x, y, 1));
  }
  ASSERT_OK(g.barrier());
}

// Likewise, of data that goes by puts.
WORLD_TEST_ON(CollectiveBody, OneErrsInLongData, std::vector<Shape>{}) {
  const char* const given = std::getenv("GRAPNEL_TEST_MISTAKE");
  const std::string all = given != nullptr ? given : "", mistake = g.rank() == kOdd ? all : "";
  constexpr std::size_t kCount = 40'000;
  std::vector<std::int64_t> x(3 * kCount, 1), y(3 * kCount);
  const Reduction sum = integers(Operation::sum);
  std::vector<std::size_t> send(3, 8 * kCount), receive = send;
  if (mistake == "sends less") send[2] = 8;
  if (mistake == "wants less") receive[2] = 8;
  if (all == "sends less" || all == "wants less") {
    ASSERT_OK(g.alltoall(g.world(), x.data(), send, y.data(), receive));
  } else if (mistake == "count") {
    ASSERT_OK(g.allreduce(sum, x.data(), y.data(), kCount + 1));
  } else if (mistake == "shorter") {
    ASSERT_OK(g.allreduce(sum, x.data(), y.data(), 1));
  } else if (mistake == "operation") {
    ASSERT_OK(g.allreduce(integers(Operation::maximum), x.data(), y.data(), kCount));
  } else if (mistake == "kind") {
    ASSERT_OK(g.allgather(x.data(), y.data(), 8 * kCount));
  } else {
    ASSERT_OK(g.allreduce(sum, x.data(), y.data(), kCount));
  }
  ASSERT_OK(g.barrier());
}

// Likewise, of calls that are started.
static void start_another(Runtime& g, std::size_t count) {
  const char* const given = std::getenv("GRAPNEL_TEST_MISTAKE");
  const std::string all = given != nullptr ? given : "", mistake = g.rank() == kOdd ? all : "";
  std::vector<std::int64_t> numbers(3 * count + 1, 1), sums(6 * count);
  std::int64_t *const x = numbers.data(), *const y = sums.data();
  const std::size_t bytes = count * sizeof *x;
  const Reduction sum = integers(Operation::sum);
  const std::vector<std::size_t> right(3, bytes), wrong = {bytes, bytes, 0};
  const auto start = [&]() -> Result<PendingCollective> {
    if (all == "root") return g.start_broadcast(x, bytes, mistake.empty() ? Rank{0} : Rank{2});
    if (all == "length") return g.start_alltoall(g.world(), x, mistake.empty() ? right : wrong, y, right);
    if (mistake == "count") return g.start_allreduce(sum, x, y, count + 1);
    if (mistake == "shorter") return g.start_allreduce(sum, x, y, 1);
    if (mistake == "operation") return g.start_allreduce(integers(Operation::maximum), x, y, count);
    if (mistake == "kind") return g.start_allgather(x, y, bytes);
    return g.start_allreduce(sum, x, y, count);
  };
  if (mistake == "blocking") {
    ASSERT_OK(g.allreduce(sum, x, y, count));
  } else {
    auto call = start();
    ASSERT_OK(call.status());
    ASSERT_OK(call->wait());
  }
  ASSERT_OK(g.barrier());
}

WORLD_TEST_ON(CollectiveBody, OneStartsAnother, std::vector<Shape>{}) { start_another(g, 1); }
WORLD_TEST_ON(CollectiveBody, OneStartsAnotherOfLongData, std::vector<Shape>{}) { start_another(g, 20'000); }

// Likewise, of a CollectiveDeath.
WORLD_TEST_ON(CollectiveBody, OneDies, std::vector<Shape>{}) {
  std::int64_t x = 1;
  const Reduction sum = integers(Operation::sum);
  ASSERT_OK(g.allreduce(sum, &x, &x, 1));
  if (g.rank() == kOdd) {
    sim::pass_time(*g.implementation().host, 100 * base::kMillisecond_ns);
    ::raise(SIGKILL);
  }
  EXPECT_CODE(Code::peer_dead, g.allreduce(sum, &x, &x, 1));
  for (;;) ::pause();  // the launcher ends it
}

}  // namespace grapnel::test
