// The smallest window that the settings allow: nothing may wait for room that the server does not know it owes.
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <vector>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "progress/settings.hpp"

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

// Single bytes as far apart as a segment of 16 MiB allows: each but a message's first takes a gap of 4 bytes.
void far_bytes(Runtime& g, std::uint64_t messages) {
  constexpr std::size_t kFar = 15 << 20;
  const auto memory = g.allocate(std::size_t{16} << 20);
  ASSERT_TRUE(memory.ok());
  const Rank other{1 - static_cast<int>(index(g.rank()))};
  std::vector<std::byte> data(64 * 1024, std::byte{7}), back(data.size());
  std::vector<Piece> pieces, gets;
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto* remote = static_cast<std::byte*>(memory->on(other)) + (i % 2) * kFar + i;
    pieces.push_back({&data[i], remote, 1});
    gets.push_back({&back[i], remote, 1});
  }
  const auto counts = [&](std::size_t row) { return g.operation_counts()[row].wire_messages; };
  ASSERT_EQ(g.operation_counts()[1].operation, "get");
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t puts = counts(0), got = counts(1);
    EXPECT_OK(g.put(pieces, other));
    EXPECT_OK(g.get(gets, other));
    EXPECT_EQ(counts(0) - puts, messages);
    EXPECT_EQ(counts(1) - got, messages);
  }
  EXPECT_EQ(back, data);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

void in_worlds_with_window(std::size_t window_bytes, const std::function<void(Runtime&)>& body) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    sim::WorldOptions options{.ranks = 2, .nodes = 2};
    options.seed(seed);
    const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
      auto foundation = foundation_of(me);
      foundation.config.change<progress::Settings>().window_bytes = window_bytes;
      auto started = runtime::assemble(std::move(foundation));
      ASSERT_TRUE(started.ok());
      body(**started);
      EXPECT_OK((*started)->finish());
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
  }
}

TEST(Window, TheSmallestNeverRunsDry) { in_worlds_with_window(128 * 1024, small_puts_then_a_chunk); }

// Addresses stand beside a chunk of data, up to sixteen chunks' window; in a smaller one a message ends where its data
// and its runs take half of it, and no further run (10 bytes at most, and its data) is sure to fit.
TEST(Window, TheSmallestCutsVectorMessagesEarlier) {
  constexpr std::size_t kHalf = 64 * 1024, kFirst = 1 + 2, kEach = 1 + 4, kMost = 1 + 10;
  constexpr std::size_t kPieces = 1 + (kHalf - kMost - kFirst) / kEach + 1;  // of a message
  in_worlds_with_window(2 * kHalf, [](Runtime& g) { far_bytes(g, (64 * 1024 + kPieces - 1) / kPieces); });
}
TEST(Window, OfSixteenChunksCutsNone) {
  in_worlds_with_window(1024 * 1024, [](Runtime& g) { far_bytes(g, 1); });
}

}  // namespace
}  // namespace grapnel::test
