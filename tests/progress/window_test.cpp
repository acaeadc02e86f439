// The smallest window that the settings allow: nothing may wait for room that the server does not know it owes.
#include <vector>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

void small_puts_then_a_chunk(Runtime& g) {
  const auto memory = g.allocate(128 * 1024);
  ASSERT_TRUE(memory.ok());
  const Rank other{1 - static_cast<int>(index(g.rank()))};
  const std::vector<std::byte> chunk(64 * 1024, std::byte{9});
  for (int count = 100; count < 140; ++count) {
    for (int i = 0; i < count; ++i) {
      EXPECT_OK(g.put(chunk.data(), static_cast<std::byte*>(memory->on(other)) + 8 * i, 8, other));
    }
    EXPECT_OK(g.put(chunk.data(), memory->on(other), chunk.size(), other));
    EXPECT_OK(g.fence(other));
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

TEST(Window, TheSmallestNeverRunsDry) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    sim::WorldOptions options{.ranks = 2, .nodes = 2};
    options.seed(seed);
    const auto outcome = sim::run_world(options, [](sim::RankWorld& me) {
      auto foundation = foundation_of(me);
      foundation.config.window_bytes = 128 * 1024;
      auto started = runtime::assemble(std::move(foundation));
      ASSERT_TRUE(started.ok());
      small_puts_then_a_chunk(**started);
      EXPECT_OK((*started)->finish());
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
  }
}

}  // namespace
}  // namespace grapnel::test
