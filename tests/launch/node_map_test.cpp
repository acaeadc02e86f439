// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>

#include "launch/launch.hpp"

namespace grapnel::launch {
namespace {

std::vector<std::size_t> sizes_of(const NodeMap& map) {
  std::vector<std::size_t> sizes;
  for (const auto& ranks : map.ranks_of) sizes.push_back(ranks.size());
  return sizes;
}

TEST(NodeMap, OneMachineIsOneNode) {
  const NodeMap map = make_node_map({"a", "a", "a"}, 0);
  EXPECT_EQ(sizes_of(map), (std::vector<std::size_t>{3}));
  EXPECT_TRUE(map.one_machine());
  EXPECT_EQ(map.leader(NodeId{0}), Rank{0});
}

TEST(NodeMap, FirstBlocksAreOneLarger) {
  EXPECT_EQ(sizes_of(make_node_map(std::vector<std::string>(5, "a"), 3)), (std::vector<std::size_t>{2, 2, 1}));
  EXPECT_EQ(sizes_of(make_node_map(std::vector<std::string>(8, "a"), 3)), (std::vector<std::size_t>{3, 3, 2}));
  EXPECT_EQ(sizes_of(make_node_map(std::vector<std::string>(7, "a"), 5)), (std::vector<std::size_t>{2, 2, 1, 1, 1}));
}

TEST(NodeMap, MoreNodesThanRanksGivesOneRankEach) {
  EXPECT_EQ(sizes_of(make_node_map({"a", "a"}, 5)), (std::vector<std::size_t>{1, 1}));
}

TEST(NodeMap, BlocksAreContiguousAndCoverEveryRank) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (int nodes = 1; nodes <= 9; ++nodes) {
      const NodeMap map = make_node_map(std::vector<std::string>(static_cast<std::size_t>(ranks), "a"), nodes);
      int next = 0;
      for (std::size_t node = 0; node < map.node_count(); ++node) {
        for (const Rank rank : map.ranks_of[node]) {
          EXPECT_EQ(static_cast<int>(rank), next++);
          EXPECT_EQ(index(map.node_of[index(rank)]), node);
        }
      }
      EXPECT_EQ(next, ranks);
    }
  }
}

TEST(NodeMap, MachinesAreSplitEachAndNumberedByLowestRank) {
  const NodeMap map = make_node_map({"z", "a", "z", "a", "z"}, 2);
  ASSERT_EQ(map.node_count(), 4u);
  EXPECT_EQ(map.ranks_of[0], (std::vector<Rank>{Rank{0}, Rank{2}}));
  EXPECT_EQ(map.ranks_of[1], (std::vector<Rank>{Rank{1}}));
  EXPECT_EQ(map.ranks_of[2], (std::vector<Rank>{Rank{3}}));
  EXPECT_EQ(map.ranks_of[3], (std::vector<Rank>{Rank{4}}));
  EXPECT_EQ(map.machine_of, (std::vector<std::string>{"z", "a", "a", "z"}));
  EXPECT_FALSE(map.one_machine());
  EXPECT_EQ(map.ranks_on_machine_of(NodeId{3}), 3u);
  EXPECT_EQ(map.ranks_on_machine_of(NodeId{1}), 2u);
}

TEST(NodeMemory, PartsLieOnLinesOfTheirOwn) {
  alignas(64) std::byte bytes[1024] = {};
  NodeMemory memory{ByteSpan(bytes)};
  const auto first = memory.carve<std::uint8_t>(1);
  const auto second = memory.carve<std::uint64_t>(9);
  const auto third = memory.carve<std::uint8_t>(1);
  EXPECT_EQ(reinterpret_cast<std::byte*>(first.data()), bytes);
  EXPECT_EQ(reinterpret_cast<std::byte*>(second.data()), bytes + 64);
  EXPECT_EQ(reinterpret_cast<std::byte*>(third.data()), bytes + 192);
}

TEST(NodeMemoryDeathTest, TooMuchIsRefused) {
  alignas(64) static std::byte bytes[128] = {};
  NodeMemory memory{ByteSpan(bytes)};
  EXPECT_DEATH(memory.carve<std::uint8_t>(129), "node memory is used up");
}

}  // namespace
}  // namespace grapnel::launch
