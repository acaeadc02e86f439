// A holder that dies: whoever waits is told, with the lock's name and what is known of its holder.
#include <vector>

#include "harness/foundation.hpp"
#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

class LockDeath : public ::testing::TestWithParam<LockKind> {};

TEST_P(LockDeath, EndsTheWaitWithTheLocksName) {
  for (const Shape shape : {Shape{3, 1}, Shape{3, 2}, Shape{3, 3}}) {
    sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
    options.seed(7);
    options.kills = {{Rank{1}, 50 * base::kMillisecond_ns}};
    std::vector<Status> told(3);
    const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
      auto started = runtime::assemble(foundation_of(me));
      ASSERT_TRUE(started.ok()) << started.status().to_string();
      Runtime& g = **started;
      LockOptions kind;
      kind.kind = GetParam();
      auto created = g.create_lock_set(4, kind);
      ASSERT_TRUE(created.ok());
      if (me.rank == Rank{1}) {
        EXPECT_OK(created->lock(3, Rank{0}));
        EXPECT_OK(g.barrier());
        sim::pass_time(me.host, 10 * base::kSecond_ns);
        return;
      }
      EXPECT_OK(g.barrier());
      told[index(me.rank)] = created->lock(3, Rank{0});
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    for (const std::size_t waiter : {0, 2}) {
      SCOPED_TRACE(told[waiter].to_string());
      EXPECT_CODE(Code::peer_dead, told[waiter]);
      EXPECT_NE(told[waiter].message().find("waited for lock 3 of rank 0"), std::string::npos);
      EXPECT_NE(told[waiter].message().find("rank 1"), std::string::npos);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, LockDeath, ::testing::ValuesIn(kAllLockKinds),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

}  // namespace
}  // namespace grapnel::test
