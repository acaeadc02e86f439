// A rank that waits at a barrier does its sleeping server's work, and leaves it behind in good order.
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

void pause(os::Host& host, std::uint64_t time_ns) {
  os::Word never{0};
  const std::uint64_t end_ns = host.now_ns() + time_ns;
  for (std::uint64_t now_ns = host.now_ns(); now_ns < end_ns; now_ns = host.now_ns())
    host.wait(never, 0, end_ns - now_ns);
}

// The last rank comes late, and wants something of everybody before and after: while they wait, and while they compute.
WORLD_TEST_ON(StandIn, AnswersWhileItWaitsAndItsServerAfterwards, shapes_from(2)) {
  constexpr int kRounds = 6, kOperations = 10;
  const auto memory = g.allocate(2 * sizeof(std::int64_t));
  ASSERT_TRUE(memory.ok());
  auto& parts = RuntimeAccess::parts(g);
  const bool late = index(g.rank()) == static_cast<std::size_t>(g.size()) - 1;
  const auto add_to_all = [&](int word) {
    for (int i = 0; i < kOperations; ++i) {
      for (int to = 0; to < g.size(); ++to) {
        auto* const sum = static_cast<std::int64_t*>(memory->on(Rank{to})) + word;
        EXPECT_TRUE(g.fetch_and_add(sum, 1, Width::bits64, Rank{to}).ok());
      }
    }
  };
  ASSERT_OK(g.barrier());
  for (int round = 1; round <= kRounds; ++round) {
    pause(*parts.host, base::kMillisecond_ns);  // the servers fall asleep
    if (late) {
      pause(*parts.host, 2 * base::kMillisecond_ns);
      add_to_all(0);
    }
    ASSERT_OK(g.barrier());
    if (late) {
      add_to_all(1);
    } else {
      pause(*parts.host, 3 * base::kMillisecond_ns);  // without a call of ours
    }
    ASSERT_OK(g.barrier());
    const auto* const sums = static_cast<const std::int64_t*>(memory->on(g.rank()));
    EXPECT_EQ(sums[0], round * kOperations);
    EXPECT_EQ(sums[1], round * kOperations);
    ASSERT_OK(g.barrier());
  }
  if (parts.server && !late) {
    EXPECT_GT(parts.server->statistics().stood_in, 0U) << "the test saw no stand-in";
  }
  EXPECT_OK(g.free(*memory));
}

}  // namespace
}  // namespace grapnel::test
