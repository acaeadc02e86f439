// Memory that is freed and allocated again at the same addresses: transfers reach the new pages, from the new pages,
// and nothing behind the new end. Adapters and their libraries remember pages by address.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kWords = 32'768;  // 256 KiB: sent from where it is, not from a copy
constexpr std::size_t kBytes = kWords * sizeof(std::uint64_t);
const std::vector<Shape> kShapes{{2, 1}, {2, 2}, {3, 2}, {5, 3}};

Rank next_of(const Runtime& g) { return Rank{(static_cast<int>(index(g.rank())) + 1) % g.size()}; }
Rank previous_of(const Runtime& g) { return Rank{(static_cast<int>(index(g.rank())) + g.size() - 1) % g.size()}; }

void fill(void* memory, Rank origin, std::uint64_t round) {
  auto* words = static_cast<std::uint64_t*>(memory);
  for (std::size_t i = 0; i < kWords; ++i) words[i] = pattern(origin, round, i);
}

std::size_t wrong_words(const void* memory, Rank origin, std::uint64_t round) {
  const auto* words = static_cast<const std::uint64_t*>(memory);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kWords; ++i) wrong += words[i] != pattern(origin, round, i) ? 1 : 0;
  return wrong;
}

}  // namespace

WORLD_TEST_ON(Reuse, TransfersReachTheNewPages, kShapes) {
  std::vector<std::uint64_t> back(kWords);
  for (std::uint64_t round = 0; round < 5; ++round) {
    const auto target = g.allocate(kBytes);
    const auto source = g.allocate(kBytes);
    ASSERT_TRUE(target.ok() && source.ok());
    fill(source->on(g.rank()), g.rank(), round);
    EXPECT_OK(g.put(source->on(g.rank()), target->on(next_of(g)), kBytes, next_of(g)));
    EXPECT_OK(g.barrier());
    EXPECT_EQ(wrong_words(target->on(g.rank()), previous_of(g), round), 0U) << "put, round " << round;
    EXPECT_OK(g.get(target->on(next_of(g)), back.data(), kBytes, next_of(g)));
    EXPECT_EQ(wrong_words(back.data(), g.rank(), round), 0U) << "get, round " << round;
    EXPECT_OK(g.barrier());
    // Into the segment: what a get landed in is sent from there next.
    EXPECT_OK(g.get(target->on(next_of(g)), source->on(g.rank()), kBytes, next_of(g)));
    EXPECT_EQ(wrong_words(source->on(g.rank()), g.rank(), round), 0U) << "get into a segment, round " << round;
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.free(*source));
    EXPECT_OK(g.free(*target));
  }
}

WORLD_TEST_ON(Reuse, NothingIsReachedBehindTheNewEnd, kShapes) {
  const auto old = g.allocate(kBytes);
  ASSERT_TRUE(old.ok());
  std::vector<std::byte> block(4096, std::byte{1});
  auto* const late = static_cast<std::byte*>(old->on(next_of(g))) + kBytes - block.size();
  EXPECT_OK(g.put(block.data(), late, block.size(), next_of(g)));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*old));
  const auto small = g.allocate(4096);
  ASSERT_TRUE(small.ok());
  EXPECT_CODE(Code::invalid_argument, g.get(late, block.data(), block.size(), next_of(g)));
  EXPECT_CODE(Code::invalid_argument, g.put(block.data(), late, block.size(), next_of(g)));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*small));
}

}  // namespace grapnel::test
