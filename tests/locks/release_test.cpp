// A release waits for nobody: not for an answer, not for the next holder, whoever stands in the queue or does not.
#include <vector>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

constexpr std::uint64_t kDelay_ns = 5 * base::kMillisecond_ns;

// Takes the lock and gives it back after `held_ns`; how long that took, in virtual time.
std::uint64_t time_of_release(LockSet& set, Rank home, os::Host& host, std::uint64_t held_ns) {
  EXPECT_OK(set.lock(0, home));
  sim::pass_time(host, held_ns);
  const std::uint64_t begin_ns = host.now_ns();
  EXPECT_OK(set.unlock(0, home));
  return host.now_ns() - begin_ns;
}

// All ranks at once, with the home at each of them: holders with and without successors, at home and elsewhere. The
// times held let requests, links and grants be under way at a release.
void be_a_rank(Runtime& g, os::Host& host, LockKind kind) {
  SCOPED_TRACE(to_string(kind));
  LockOptions options;
  options.kind = kind;
  options.local_passes = 1;
  auto created = g.create_lock_set(1, options);
  ASSERT_OK(created.status());
  for (int home = 0; home < g.size(); ++home) {
    for (const std::uint64_t held_ns : {std::uint64_t{0}, kDelay_ns / 2, 3 * kDelay_ns}) {
      EXPECT_LT(time_of_release(*created, Rank{home}, host, held_ns), kDelay_ns) << "home " << home;
    }
    ASSERT_OK(g.barrier());
  }
  EXPECT_OK(g.destroy_lock_set(*created));
}

TEST(LockRelease, WaitsForNobody) {
  for (const Shape shape : {Shape{3, 1}, Shape{3, 3}, Shape{4, 2}}) {
    sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
    options.seed(5);
    options.network.delay_ns = kDelay_ns;
    const auto outcome = sim::run_world(options, [](sim::RankWorld& me) {
      auto started = runtime::assemble(foundation_of(me));
      ASSERT_TRUE(started.ok()) << started.status().to_string();
      for (const LockKind kind : kAllLockKinds) be_a_rank(**started, me.host, kind);
      EXPECT_OK((*started)->finish());
    });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
  }
}

}  // namespace
}  // namespace grapnel::test
