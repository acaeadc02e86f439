// How long calls may take, in virtual time. A release waits for no rank: not for an answer, not for the next holder,
// whatever the queue. A rank that gives up is late by a round trip at most, whatever it races with.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "harness/foundation.hpp"
#include "locks/join_scene.hpp"

namespace grapnel::test {
namespace {

constexpr std::uint64_t kDelay_ns = 5 * base::kMillisecond_ns;

// Takes the lock and gives it back after `held_ns`; how long that took, in virtual time.
std::uint64_t time_of_release(LockSet& set, Rank home, os::Host& host, std::uint64_t held_ns, bool shared) {
  EXPECT_OK(shared ? set.lock_shared(0, home) : set.lock(0, home));
  sim::pass_time(host, held_ns);
  const std::uint64_t begin_ns = host.now_ns();
  EXPECT_OK(shared ? set.unlock_shared(0, home) : set.unlock(0, home));
  return host.now_ns() - begin_ns;
}

// All ranks at once, with the home at each of them: holders with and without successors, at home and elsewhere. The
// times held let requests, links and grants be under way at a release.
void release_often(Runtime& g, os::Host& host, LockKind kind, bool shared_mode) {
  SCOPED_TRACE(to_string(kind));
  LockOptions options;
  options.kind = kind;
  options.shared_mode = shared_mode;
  options.local_passes = 1;
  auto created = g.create_lock_set(1, options);
  ASSERT_OK(created.status());
  for (int home = 0; home < g.size(); ++home) {
    for (const std::uint64_t held_ns : {std::uint64_t{0}, kDelay_ns / 2, 3 * kDelay_ns}) {
      // Of a set with a shared mode every other rank is a reader.
      const bool shared = shared_mode && index(g.rank()) % 2 == 0;
      EXPECT_LT(time_of_release(*created, Rank{home}, host, held_ns, shared), kDelay_ns) << "home " << home;
    }
    ASSERT_OK(g.barrier());
  }
  EXPECT_OK(g.destroy_lock_set(*created));
}

// The last rank gives up again and again, every other rank takes the lock without a pause.
void race(Runtime& g, os::Host& host, LockKind kind, bool shared_mode) {
  SCOPED_TRACE(to_string(kind));
  LockOptions options;
  options.kind = kind;
  options.shared_mode = shared_mode;
  auto created = g.create_lock_set(1, options);
  ASSERT_OK(created.status());
  const bool gives_up = static_cast<int>(index(g.rank())) == g.size() - 1;
  for (int round = 0; round < 30; ++round) {
    const std::uint64_t timeout_ns = gives_up ? (round % 5) * kDelay_ns : 1000 * kDelay_ns;
    const std::uint64_t begin_ns = host.now_ns();
    const bool shared = shared_mode && !gives_up && round % 2 == 0;
    const Status taken = shared ? created->lock_shared(0, Rank{0}) : created->lock_for(0, Rank{0}, timeout_ns);
    if (taken.code() == Code::timed_out) {
      EXPECT_LT(host.now_ns() - begin_ns, timeout_ns + 2 * kDelay_ns + kDelay_ns / 2) << "round " << round;
    } else {
      ASSERT_TRUE(taken.ok()) << taken.to_string();
      EXPECT_OK(shared ? created->unlock_shared(0, Rank{0}) : created->unlock(0, Rank{0}));
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(*created));
}

// Every kind in worlds of these shapes, where a message takes kDelay_ns.
void for_all_kinds(const std::vector<Shape>& shapes, std::uint64_t seed,
                   void (*be_a_rank)(Runtime&, os::Host&, LockKind, bool shared_mode)) {
  for (const Shape shape : shapes) {
    sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
    options.seed(seed);
    options.network.delay_ns = kDelay_ns;
    const auto outcome = sim::run_world(options, [be_a_rank](sim::RankWorld& me) {
      auto started = runtime::assemble(foundation_of(me));
      ASSERT_TRUE(started.ok()) << started.status().to_string();
      for (const LockKind kind : kAllLockKinds) {
        for (const bool shared_mode : {false, true}) be_a_rank(**started, me.host, kind, shared_mode);
      }
      EXPECT_OK((*started)->finish());
    });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
  }
}

TEST(LockRelease, WaitsForNobody) { for_all_kinds({{3, 1}, {3, 3}, {4, 2}}, 5, release_often); }

TEST(LockTimeout, IsLateByARoundTripAtMost) { for_all_kinds({{5, 5}, {8, 8}, {8, 3}}, 7, race); }

// The writer's place and its question for readers are under way for longer than its first looks.
TEST(LockJoins, WaitForAWriterThatIsNotThereYet) {
  for (const Shape shape : {Shape{3, 2}, Shape{3, 3}, Shape{5, 3}}) {
    sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
    options.network.delay_ns = kDelay_ns;
    const auto outcome = sim::run_world(options, [](sim::RankWorld& me) {
      auto started = runtime::assemble(foundation_of(me));
      ASSERT_TRUE(started.ok()) << started.status().to_string();
      for (const LockKind kind : kAllLockKinds) {
        SCOPED_TRACE(to_string(kind));
        for (const int home : {0, 1, (*started)->size() - 1}) join_beside_a_reader(**started, kind, Rank{home});
      }
      EXPECT_OK((*started)->finish());
    });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
  }
}

}  // namespace
}  // namespace grapnel::test
