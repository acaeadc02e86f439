// What the locks count, against a use of them of which every number is known.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <numeric>
#include <regex>
#include <string_view>
#include <vector>

#include "base/codec.hpp"
#include "harness/access.hpp"
#include "harness/processes.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

constexpr Rank kHome{0};
constexpr int kFree = 5;

void settle(Runtime& g) { sim::pass_time(*g.implementation().host, 20 * base::kMillisecond_ns); }

LockSet make(Runtime& g, LockKind kind) {
  LockOptions options;
  options.kind = kind;
  auto created = g.create_lock_set(1, options);
  EXPECT_OK(created.status());
  return created.ok() ? *created : LockSet();
}

// Rank 1 takes a free lock kFree times. Then it holds it while rank 2 tries, gives up, and waits, without an end or
// with one that does not come. 7 acquisitions, one hand-off from rank 1 to rank 2, two that gave up.
void use(Runtime& g, LockSet& set, bool timed = false) {
  const std::size_t me = index(g.rank());
  for (int i = 0; i < kFree && me == 1; ++i) {
    EXPECT_OK(set.lock(0, kHome));
    EXPECT_OK(set.unlock(0, kHome));
  }
  EXPECT_OK(g.barrier());
  settle(g);
  if (me == 1) EXPECT_OK(set.lock(0, kHome));
  EXPECT_OK(g.barrier());
  if (me == 2) {
    const auto tried = set.try_lock(0, kHome);
    EXPECT_TRUE(tried.ok() && !*tried);
    EXPECT_CODE(Code::timed_out, set.lock_for(0, kHome, base::kMillisecond_ns));
  }
  EXPECT_OK(g.barrier());
  if (me == 1) {
    settle(g);
    settle(g);
    EXPECT_OK(set.unlock(0, kHome));
  }
  if (me == 2) {
    EXPECT_OK(timed ? set.lock_for(0, kHome, 60 * base::kSecond_ns) : set.lock(0, kHome));
    EXPECT_OK(set.unlock(0, kHome));
  }
  EXPECT_OK(g.barrier());
  settle(g);
}

// Collective: what all ranks have counted.
LockCounts counts_of_all(Runtime& g, LockKind kind) {
  const LockCounts mine = g.implementation().locks->counts()[static_cast<std::size_t>(kind)];
  const auto all = g.allgather(g.world(), base::bytes_of(mine));
  EXPECT_OK(all.status());
  LockCounts sum;
  for (const Bytes& bytes : *all) {
    const auto one = base::Decoder(bytes).get<LockCounts>();
    if (!one) continue;
    sum.acquisitions += one->acquisitions;
    sum.local_hand_offs += one->local_hand_offs;
    sum.remote_hand_offs += one->remote_hand_offs;
    sum.gave_up += one->gave_up;
    for (std::size_t k = 0; k < LockCounts::kWaitClasses; ++k) sum.waits[k] += one->waits[k];
  }
  return sum;
}

void expect_those_of_a_known_use(Runtime& g, bool timed) {
  const bool same_node = g.node_of(Rank{1}) == g.node_of(Rank{2});
  const bool away = g.node_of(Rank{1}) != g.node_of(kHome);
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockSet set = make(g, kind);
    use(g, set, timed);
    EXPECT_OK(g.destroy_lock_set(set));
    const LockCounts counts = counts_of_all(g, kind);
    EXPECT_EQ(counts.acquisitions, kFree + 2U);
    EXPECT_EQ(counts.local_hand_offs, same_node ? 1U : 0U);
    EXPECT_EQ(counts.remote_hand_offs, same_node ? 0U : 1U);
    EXPECT_EQ(counts.gave_up, 2U);
    // Who is away from the home waits for its answer; at home one waits only for others, or for the own node's server.
    const bool asks = g.node_count() > 1 && (kind == LockKind::server_queue || kind == LockKind::reader_writer);
    const std::uint64_t waited = std::accumulate(std::begin(counts.waits), std::end(counts.waits), std::uint64_t{0});
    EXPECT_EQ(waited, (away || asks ? kFree + 1U : 0U) + 1U);
    // The one that waited for rank 1 waited for it to settle twice.
    std::uint64_t long_waits = 0;
    for (std::size_t k = 25; k < LockCounts::kWaitClasses; ++k) long_waits += counts.waits[k];  // 2^24 ns = 16.8 ms
    EXPECT_GE(long_waits, 1U);
    EXPECT_OK(g.barrier());
  }
}

const std::vector<Shape> kShapes{{3, 1}, {3, 3}, {5, 2}};

}  // namespace

WORLD_TEST_ALONE_ON(LockStatistics, AreThoseOfAKnownUse, kShapes) { expect_those_of_a_known_use(g, false); }
WORLD_TEST_ALONE_ON(LockStatistics, AreTheSameWithATimeout, kShapes) { expect_those_of_a_known_use(g, true); }

namespace {

class LockTable : public ::testing::TestWithParam<LockKind> {};

// The table that GRAPNEL_STATS=1 prints at the end states the same.
TEST_P(LockTable, IsPrintedAtTheEnd) {
  const char* const worlds = std::getenv("GRAPNEL_TEST_WORLDS");
  if (worlds != nullptr && std::string_view(worlds).find("processes") == std::string_view::npos) {
    GTEST_SKIP() << "no processes here";
  }
  for (const Shape shape : {Shape{3, 1}, Shape{3, 3}}) {
    const ProcessOutcome outcome = run_job(
        shape,
        {{"GRAPNEL_TEST_BODY", "LockTableBody.Uses"}, {"GRAPNEL_LOCK", to_string(GetParam())}, {"GRAPNEL_STATS", "1"}},
        {"/proc/self/exe"}, std::chrono::seconds(60));
    SCOPED_TRACE(outcome.output);
    EXPECT_EQ(outcome.exit_code, 0);
    const std::string row =
        fmt::format("{} +{} +{} +{} +2 +[0-9]+ +[0-9]+ +0\\n(0:)? +waited < ", to_string(GetParam()), kFree + 2,
                    shape.nodes == 1 ? 1 : 0, shape.nodes == 1 ? 0 : 1);
    EXPECT_TRUE(std::regex_search(outcome.output, std::regex(row))) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, LockTable, ::testing::ValuesIn(kAllLockKinds),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

}  // namespace

// In no world of its own: what the ranks of IsPrintedAtTheEnd do.
WORLD_TEST_ON(LockTableBody, Uses, std::vector<Shape>{}) {
  LockSet set = make(g, LockKind::standard);
  use(g, set);
  EXPECT_OK(g.destroy_lock_set(set));
}

}  // namespace grapnel::test
