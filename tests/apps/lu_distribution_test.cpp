// The rule that gives each block its owner.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "distribution.hpp"

namespace lu {
namespace {

/// `nodes` nodes of contiguous ranks, the first ranks % nodes one larger: as virtual nodes are.
std::vector<int> contiguous_nodes(int ranks, int nodes) {
  std::vector<int> node_by_rank;
  for (int node = 0; node < nodes; ++node) {
    const int size = ranks / nodes + (node < ranks % nodes ? 1 : 0);
    for (int rank = 0; rank < size; ++rank) node_by_rank.push_back(node);
  }
  return node_by_rank;
}

/// Invariants 1 and 2: slots without gaps, and rows × columns of a rank are exactly the blocks it owns.
void expect_consistent(const Distribution& distribution, int ranks) {
  std::map<int, std::set<std::int64_t>> slots;
  for (std::int64_t row = 0; row < distribution.blocks(); ++row) {
    for (std::int64_t column = 0; column < distribution.blocks(); ++column) {
      const Place place = distribution.place(row, column);
      ASSERT_GE(place.owner, 0);
      ASSERT_LT(place.owner, ranks);
      EXPECT_TRUE(slots[place.owner].insert(place.slot).second) << "slot twice: " << row << ' ' << column;
    }
  }
  std::int64_t owned = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto count = static_cast<std::int64_t>(slots[rank].size());
    EXPECT_EQ(distribution.owned_blocks(rank), count);
    if (count > 0) {
      EXPECT_EQ(*slots[rank].begin(), 0);
      EXPECT_EQ(*slots[rank].rbegin(), count - 1);
    }
    for (const std::int64_t row : distribution.rows_of(rank)) {
      for (const std::int64_t column : distribution.columns_of(rank)) {
        EXPECT_EQ(distribution.place(row, column).owner, rank);
      }
    }
    owned += distribution.owned_blocks(rank);
  }
  EXPECT_EQ(owned, distribution.blocks() * distribution.blocks());
}

TEST(Distribution, EveryBlockHasOneOwnerAndOneSlot) {
  for (const Layout layout : {Layout::cyclic, Layout::block, Layout::node}) {
    for (const auto& [ranks, nodes] : {std::pair{1, 1}, {2, 1}, {3, 2}, {5, 3}, {5, 5}, {8, 2}, {8, 3}, {12, 4}}) {
      for (const std::int64_t blocks : {1, 2, 3, 7, 16, 17}) {
        SCOPED_TRACE(testing::Message() << to_string(layout) << ' ' << ranks << ' ' << nodes << ' ' << blocks);
        expect_consistent(Distribution(layout, blocks, contiguous_nodes(ranks, nodes)), ranks);
      }
    }
  }
}

TEST(Distribution, GridsAreAsSquareAsTheCountAllows) {
  for (const auto& [count, rows, columns] :
       {std::tuple{1, 1, 1}, {2, 1, 2}, {5, 1, 5}, {6, 2, 3}, {8, 2, 4}, {16, 4, 4}}) {
    EXPECT_EQ(squarest_grid(count).rows, rows) << count;
    EXPECT_EQ(squarest_grid(count).columns, columns) << count;
  }
}

TEST(Distribution, TheGridInsideATileEvensOutTheGridOfTiles) {
  // Two nodes side by side with two ranks each: the ranks of a node stand above each other, 2 × 2 in all.
  const Grid grid = squarest_grid(2, squarest_grid(2));
  EXPECT_EQ(grid.rows, 2);
  EXPECT_EQ(grid.columns, 1);
  const Distribution distribution(Layout::node, 8, contiguous_nodes(4, 2));
  EXPECT_EQ(distribution.place(0, 0).owner, 0);
  EXPECT_EQ(distribution.place(1, 0).owner, 1);
  EXPECT_EQ(distribution.place(0, 3).owner, 0);
  EXPECT_EQ(distribution.place(0, 4).owner, 2);
}

TEST(Distribution, CyclicIsSplash2sBlockOwner) {
  const Distribution distribution(Layout::cyclic, 9, contiguous_nodes(6, 2));
  for (std::int64_t row = 0; row < 9; ++row) {
    for (std::int64_t column = 0; column < 9; ++column) {
      EXPECT_EQ(distribution.place(row, column).owner, row % 2 * 3 + column % 3);
    }
  }
}

TEST(Distribution, BlockIsContiguousPerRank) {
  const Distribution distribution(Layout::block, 8, contiguous_nodes(4, 2));
  EXPECT_EQ(distribution.place(0, 0).owner, 0);
  EXPECT_EQ(distribution.place(3, 3).owner, 0);
  EXPECT_EQ(distribution.place(3, 4).owner, 1);
  EXPECT_EQ(distribution.place(4, 0).owner, 2);
  EXPECT_EQ(distribution.place(7, 7).owner, 3);
}

TEST(Distribution, NodeIsContiguousPerNodeAndCyclicInside) {
  const Distribution distribution(Layout::node, 8, contiguous_nodes(8, 2));
  // Two nodes side by side; in the left half the four ranks of node 0 take turns row by row.
  EXPECT_EQ(distribution.place(0, 0).owner, 0);
  EXPECT_EQ(distribution.place(1, 3).owner, 1);
  EXPECT_EQ(distribution.place(3, 0).owner, 3);
  EXPECT_EQ(distribution.place(4, 2).owner, 0);
  EXPECT_EQ(distribution.place(0, 4).owner, 4);
  EXPECT_EQ(distribution.place(7, 7).owner, 7);
}

TEST(Distribution, NodesNeedNotHoldContiguousRanks) {
  const std::vector<int> round_robin = {0, 1, 0, 1, 0};
  expect_consistent(Distribution(Layout::node, 11, round_robin), 5);
}

}  // namespace
}  // namespace lu
