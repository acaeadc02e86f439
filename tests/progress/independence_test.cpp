// The target takes no part: it computes, sleeps or sits in a system call. And nothing stays in a sender that computes.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

// A rank that does not call Grapnel until a word of its own memory holds `value`; false after ten seconds.
bool compute_until(Runtime& g, void* word, std::uint64_t value) {
  os::Host& host = *RuntimeAccess::parts(g).host;
  const std::atomic_ref<std::uint64_t> mine(*static_cast<std::uint64_t*>(word));
  const std::uint64_t end_ns = host.now_ns() + 10 * base::kSecond_ns;
  while (mine.load(std::memory_order_acquire) != value) {
    if (host.now_ns() > end_ns) return false;
    host.relax();
  }
  return true;
}

}  // namespace

WORLD_TEST_ON(Independence, OperationsEndWhileTheTargetSleeps, shapes_from(2)) {
  const auto memory = g.allocate(16 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  constexpr std::uint64_t kNap_ns = base::kSecond_ns;
  EXPECT_OK(g.barrier());
  const Rank sleeper{g.size() - 1};
  os::Host& host = *RuntimeAccess::parts(g).host;
  if (g.rank() == sleeper) {
    sim::pass_time(host, kNap_ns);  // virtual time in the simulator, a futex sleep on the machine
  } else {
    const std::uint64_t start_ns = host.now_ns();
    const double one = 1;
    double got = 0;
    char* mine = static_cast<char*>(memory->on(sleeper)) + 16 * index(g.rank());
    EXPECT_OK(g.accumulate(ElementType::float64, nullptr, &one, mine, sizeof one, sleeper));
    EXPECT_OK(g.fence(sleeper));
    EXPECT_OK(g.get(mine, &got, sizeof got, sleeper));
    EXPECT_EQ(got, 1);
    EXPECT_TRUE(g.fetch_and_add(mine + 8, 1, Width::bits64, sleeper).ok());
    EXPECT_LT(host.now_ns() - start_ns, kNap_ns) << "waited for the sleeping target";
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST_ON(Independence, NothingStaysInASenderThatComputes, (std::vector<Shape>{{2, 2}, {5, 2}, {3, 3}})) {
  // Every rank fills the pipe to its neighbour, sends a flag last, and then computes until its own flag has come.
  constexpr std::size_t kBlock = 1 << 20, kPiece = 128 * base::kKiB;
  const auto memory = g.allocate(kBlock + 64);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  std::vector<std::byte> block(kBlock, std::byte{3});
  for (std::uint64_t round = 1; round <= 8; ++round) {
    // In pieces that are no bulk: they leave by and by, as the target's server takes them.
    for (std::size_t at = 0; at < kBlock; at += kPiece) {
      EXPECT_OK(g.put(block.data() + at, static_cast<std::byte*>(memory->on(next)) + at, kPiece, next));
    }
    EXPECT_OK(g.put(&round, static_cast<std::byte*>(memory->on(next)) + kBlock, sizeof round, next));
    EXPECT_TRUE(compute_until(g, static_cast<std::byte*>(memory->local()) + kBlock, round)) << "round " << round;
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST_ON(Independence, EndpointsAreRanksTimesNodes, (std::vector<Shape>{{5, 2}, {5, 5}, {8, 3}})) {
  const auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  for (int target = 0; target < g.size(); ++target) {
    const std::uint64_t value = 1;
    EXPECT_OK(g.put(&value, memory->on(Rank{target}), sizeof value, Rank{target}));
  }
  EXPECT_OK(g.barrier());
  EXPECT_LE(RuntimeAccess::parts(g).client->endpoint_count(), static_cast<std::size_t>(g.node_count()));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
