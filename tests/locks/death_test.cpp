// A holder that dies: the message of the job names the lock, its holder and its waiters.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <vector>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/processes.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

constexpr Rank kHome{0}, kHolder{1};
constexpr int kLock = 3;

// All ways in which the holder, rank 1, is named as such.
bool names_the_holder(const std::string& text) {
  static const std::regex kWays(
      "rank 1 holds it|rank 1 held it|stands behind rank 1|node 1 \\(rank 1\\)|granted it to rank 1|is rank 1's|"
      "names rank 1");
  return std::regex_search(text, kWays);
}

// Rank 1 gets the lock and is killed 50 ms later; the others wait for it.
struct Death {
  std::vector<Status> told;
  std::string log;
};

struct Use {
  bool shared = false;
  bool starts = false;    ///< the holder has started it, and not looked since
  bool gives_up = false;  ///< the waiters wait shortly and give up before they wait
};

void take(LockSet& set, Use use) {
  if (use.starts) {
    EXPECT_OK(set.start_lock(kLock, kHome).status());
  } else {
    EXPECT_OK(use.shared ? set.lock_shared(kLock, kHome) : set.lock(kLock, kHome));
  }
}

void be_a_rank(sim::RankWorld& me, const LockVariant& variant, Use use, Status& told) {
  auto started = runtime::assemble(foundation_of(me));
  ASSERT_TRUE(started.ok()) << started.status().to_string();
  Runtime& g = **started;
  LockOptions options = variant.options();
  options.shared_mode = use.shared;
  auto created = g.create_lock_set(4, options);
  ASSERT_TRUE(created.ok()) << created.status().to_string();
  if (me.rank == kHolder) {
    take(*created, use);
    EXPECT_OK(g.barrier());
    sim::pass_time(me.host, 10 * base::kSecond_ns);
    return;
  }
  EXPECT_OK(g.barrier());
  if (use.gives_up) {
    EXPECT_CODE(Code::timed_out, created->lock_for(kLock, kHome, base::kMillisecond_ns));
  }
  told = created->lock(kLock, kHome);
  sim::pass_time(me.host, base::kSecond_ns);  // the servers look, too
}

Death die_in_sim(Shape shape, const LockVariant& variant, Use use = {}) {
  Death death;
  death.told.resize(static_cast<std::size_t>(shape.ranks));
  sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
  options.seed(7);
  options.kills = {{kHolder, 50 * base::kMillisecond_ns}};
  options.network.native_put = options.network.native_get = options.network.native_atomics = variant.in_network();
  ::testing::internal::CaptureStderr();
  const auto outcome =
      sim::run_world(options, [&](sim::RankWorld& me) { be_a_rank(me, variant, use, death.told[index(me.rank)]); });
  death.log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  return death;
}

class LockDeath : public ::testing::TestWithParam<LockKind> {};

TEST_P(LockDeath, NamesLockHolderAndWaiters) {
  for (const Shape shape : {Shape{3, 1}, Shape{3, 2}, Shape{3, 3}}) {
    const Death death = die_in_sim(shape, GetParam());
    SCOPED_TRACE(death.log);
    for (const std::size_t waiter : {0, 2}) {
      const Status& told = death.told[waiter];
      EXPECT_CODE(Code::peer_dead, told);
      const std::string waited =
          "rank " + std::to_string(waiter) + " waited for lock 3 of rank 0 (" + to_string(GetParam());
      EXPECT_NE(told.message().find(waited), std::string::npos) << told.to_string();
      EXPECT_NE(death.log.find(waited), std::string::npos);
    }
    EXPECT_TRUE(names_the_holder(death.log)) << shape.ranks << " ranks on " << shape.nodes << " nodes";
  }
}

TEST_P(LockDeath, OfAReaderIsToldToo) {
  for (const Shape shape : {Shape{3, 1}, Shape{3, 2}, Shape{3, 3}}) {
    const Death death = die_in_sim(shape, GetParam(), {.shared = true});
    SCOPED_TRACE(death.log);
    for (const std::size_t waiter : {0, 2}) EXPECT_CODE(Code::peer_dead, death.told[waiter]);
    // A home that counts readers does not know them: where all of the reader's node is gone, no rank does.
    const bool is_known = shape.nodes < 3 || GetParam() == LockKind::reader_writer;
    const bool counts = death.log.find("readers inside: 1") != std::string::npos ||
                        death.log.find("readers that its home counts") != std::string::npos;
    EXPECT_TRUE(is_known ? names_the_holder(death.log) : counts) << shape.ranks << " ranks on " << shape.nodes;
  }
}

TEST_P(LockDeath, NamesWhoWasGrantedItAndHasNotLooked) {
  if (GetParam() == LockKind::test_and_set) GTEST_SKIP() << "tries when it is waited for, not when it is started";
  const Death death = die_in_sim({3, 1}, GetParam(), {.starts = true});
  EXPECT_NE(death.log.find("rank 1 holds it"), std::string::npos) << death.log;
}

// No server knows of these: a waiter looks by itself, and names what it has seen of the word or of the queue.
TEST(NetworkLockDeath, EndsEveryWait) {
  for (const LockKind kind : kNetworkLockKinds) {
    for (const Shape shape : {Shape{3, 1}, Shape{3, 2}, Shape{3, 3}}) {
      const Death death = die_in_sim(shape, LockVariant(kind, AtomicDomain::network));
      SCOPED_TRACE(death.log);
      for (const std::size_t waiter : {0, 2}) {
        const Status& told = death.told[waiter];
        EXPECT_CODE(Code::peer_dead, told);
        const std::string waited =
            "rank " + std::to_string(waiter) + " waited for lock 3 of rank 0 (" + to_string(kind);
        EXPECT_NE(told.message().find(waited), std::string::npos) << told.to_string();
      }
    }
  }
}

// In the queues of ranks and of nodes: a place that was taken up again, and one behind others of the node.
TEST(LockDeathInAQueue, IsToldByWhoeverHasAPlace) {
  for (const LockKind kind : {LockKind::mcs, LockKind::mcs_by_cas, LockKind::cohort}) {
    for (const bool gives_up : {false, true}) {
      const Death death = die_in_sim({5, 2}, kind, {.gives_up = gives_up});
      EXPECT_EQ(death.log.find("not in the queue yet"), std::string::npos) << death.log;
      EXPECT_EQ(death.log.find("taken up again") != std::string::npos, gives_up) << death.log;
      EXPECT_EQ(death.log.find("behind others of its node") != std::string::npos, kind == LockKind::cohort)
          << death.log;
    }
  }
}

// All that a job under the launcher prints of the death of `holder`.
ProcessOutcome die_under_the_launcher(Shape shape, LockKind kind, Rank holder) {
  return run_job(shape,
                 {{"GRAPNEL_TEST_BODY", "LockDeathBody.HolderIsKilled"},
                  {"GRAPNEL_TEST_HOLDER", std::to_string(index(holder))},
                  {"GRAPNEL_LOCK", to_string(kind)}},
                 {"/proc/self/exe"}, std::chrono::seconds(60));
}

// The waiter is named with the lock, or has told of itself before that and waits no more.
bool names_the_waiter(const std::string& text, int waiter) {
  const std::regex named(
      fmt::format("ranks? ([0-9]+, )*{0}(, [0-9]+)* waits? for it|rank {0} waited for lock 3", waiter));
  return std::regex_search(text, named);
}

TEST_P(LockDeath, IsToldUnderTheLauncher) {
  for (const Shape shape : {Shape{3, 1}, Shape{4, 2}}) {
    const ProcessOutcome outcome = die_under_the_launcher(shape, GetParam(), kHolder);
    SCOPED_TRACE(outcome.output);
    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
    EXPECT_EQ(outcome.left_behind, "");
    EXPECT_NE(outcome.output.find("rank 1 was killed by signal 9"), std::string::npos);
    const std::string lock = std::string("lock 3 of rank 0 (") + to_string(GetParam()) + ")";
    EXPECT_NE(outcome.output.find("rank 1 died; " + lock + ": rank 1 holds it"), std::string::npos);
    for (const int waiter : {0, 2}) EXPECT_TRUE(names_the_waiter(outcome.output, waiter)) << "rank " << waiter;
  }
}

// The server's process is the holder's: a rank beside it notifies the other node.
TEST_P(LockDeath, OfALeaderIsToldOnOtherNodesToo) {
  const ProcessOutcome outcome = die_under_the_launcher({4, 2}, GetParam(), kHome);
  SCOPED_TRACE(outcome.output);
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  const std::string lock = std::string("lock 3 of rank 0 (") + to_string(GetParam()) + ")";
  EXPECT_NE(outcome.output.find("rank 0 died; " + lock + ": rank 0 holds it"), std::string::npos);
  for (const int waiter : {1, 2}) EXPECT_TRUE(names_the_waiter(outcome.output, waiter)) << "rank " << waiter;
}

INSTANTIATE_TEST_SUITE_P(AllKinds, LockDeath, ::testing::ValuesIn(kAllLockKinds),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

}  // namespace

// In no world of its own: what the ranks of IsToldUnderTheLauncher do.
WORLD_TEST_ON(LockDeathBody, HolderIsKilled, std::vector<Shape>{}) {
  auto created = g.create_lock_set(4);
  ASSERT_TRUE(created.ok());
  const bool holds = std::getenv("GRAPNEL_TEST_HOLDER") == std::to_string(index(g.rank()));
  // Connected to the other node: the launcher leaves a tenth of a second, which a first message may take.
  ASSERT_OK(created->lock(0, Rank{g.size() - 1}));
  ASSERT_OK(created->unlock(0, Rank{g.size() - 1}));
  if (holds) ASSERT_OK(created->lock(kLock, kHome));
  ASSERT_OK(g.barrier());
  if (holds) {
    sim::pass_time(*g.implementation().host, 300 * base::kMillisecond_ns);
    ::raise(SIGKILL);
  }
  EXPECT_CODE(Code::peer_dead, created->lock(kLock, kHome));
  for (;;) ::pause();  // the launcher ends it
}

}  // namespace grapnel::test
