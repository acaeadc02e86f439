// What a collective costs in messages, and that late ranks do no harm.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "collective/expected.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

int messages_of_dissemination(int nodes) { return std::bit_width(static_cast<unsigned>(nodes - 1)); }

bool leads(const Runtime& g) {
  for (int rank = 0; rank < static_cast<int>(g.rank()); ++rank) {
    if (g.node_of(Rank{rank}) == g.node()) return false;
  }
  return true;
}

}  // namespace

// As many as a barrier with nothing to complete.
WORLD_TEST(CollectiveMessages, AnAllreduceOfOneNumberIsADissemination) {
  const Reduction sum = reduction(Operation::sum, NumberType::float64).value();
  double x = 1;
  ASSERT_OK(g.barrier());
  const std::uint64_t before = wire_messages(g, "allreduce");
  for (int i = 0; i < 10; ++i) ASSERT_OK(g.allreduce(sum, &x, &x, 1));
  const std::uint64_t sent = wire_messages(g, "allreduce") - before;
  EXPECT_EQ(sent, leads(g) ? 10U * static_cast<unsigned>(messages_of_dissemination(g.node_count())) : 0U);
}

WORLD_TEST(CollectiveMessages, ABroadcastSendsOneToEachNode) {
  double x = 1;
  const std::uint64_t before = wire_messages(g, "broadcast");
  ASSERT_OK(g.broadcast(&x, sizeof x, Rank{0}));
  std::int64_t sent = static_cast<std::int64_t>(wire_messages(g, "broadcast") - before), total = 0;
  const Reduction sum = reduction(Operation::sum, NumberType::int64).value();
  ASSERT_OK(g.allreduce(sum, &sent, &total, 1));
  EXPECT_EQ(total, g.node_count() - 1);
}

WORLD_TEST(CollectiveOrder, LateRanksDoNoHarm) {
  const Reduction sum = reduction(Operation::sum, NumberType::int64).value();
  for (int late = 0; late < std::min(3, g.size()); ++late) {
    if (static_cast<int>(g.rank()) == late && !world_has_virtual_time()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    std::int64_t x = 1;
    ASSERT_OK(g.broadcast(&x, sizeof x, Rank{late}));
    ASSERT_OK(g.allreduce(sum, &x, &x, 1));
    EXPECT_EQ(x, g.size());
  }
}

}  // namespace grapnel::test
