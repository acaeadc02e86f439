// Who owns which block of the block matrix: the three distributions of the multiprotocol paper as one rule.
//
// The block matrix is cut into a grid of contiguous tiles, one tile per *team* of ranks; inside its tile a team's
// blocks are dealt out block-cyclically over the team's own 2-D grid, as SPLASH-2 does.
//
//   cyclic   one team of all ranks            best balance, neighbours live anywhere
//   block    one team per rank                a rank's blocks are contiguous: best locality, poor balance
//   node     one team per node                contiguous between nodes, cyclic inside: the paper's third version
//
// Invariants:
// 1. Every block has one owner, and (owner, slot) names one block: slots of a rank are 0 … owned_blocks − 1.
// 2. A rank's blocks are the product of a set of block rows and a set of block columns.
// 3. Everything is computed from (blocks, layout, node map), so all ranks agree without a message.
//
// Threads: immutable after construction. Source: armci-multiprotocol, section 4.1; SPLASH-2 LU, BlockOwner.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace lu {

enum class Layout { cyclic, block, node };

const char* to_string(Layout layout);

/// A process grid.
struct Grid {
  int rows = 1;
  int columns = 1;
};

/// `count` = rows × columns such that a grid of `tiles` of them is as square as the count allows: a block of L is read
/// by one row of the whole grid and a block of U by one column, so the sum of the two is what a step moves. Between
/// equals the one that fetches fewer copies from other tiles, then the one with fewer rows, as SPLASH-2 has it.
Grid squarest_grid(int count, Grid tiles = {});

/// Where a block lives: its owner, and which of the owner's blocks it is.
struct Place {
  int owner = 0;
  std::int64_t slot = 0;
};

class Distribution {
 public:
  /// `blocks`: rows (and columns) of the block matrix. `node_by_rank[r]` is the node of rank r, 0 … nodes − 1.
  Distribution(Layout layout, std::int64_t blocks, const std::vector<int>& node_by_rank);

  Layout layout() const { return layout_; }
  std::int64_t blocks() const { return blocks_; }
  Place place(std::int64_t block_row, std::int64_t block_column) const;
  /// The block rows and columns, ascending, of which `rank` owns every crossing.
  std::vector<std::int64_t> rows_of(int rank) const;
  std::vector<std::int64_t> columns_of(int rank) const;
  std::int64_t owned_blocks(int rank) const;

 private:
  /// Ranks that share one tile, and their grid inside it.
  struct Team {
    std::vector<int> ranks;
    Grid grid;
  };
  /// Where a rank sits: its team's place in the grid of tiles, its own place in the team's grid.
  struct Seat {
    int tile_row = 0, tile_column = 0;
    int row = 0, column = 0;
  };

  Seat seat_of(int rank) const;
  std::vector<std::int64_t> dealt(int tile, int tiles, int seat, int seats) const;
  std::int64_t tile_begin(int tile, int tiles) const { return (tile * blocks_ + tiles - 1) / tiles; }
  int tile_of(std::int64_t block, int tiles) const { return static_cast<int>(block * tiles / blocks_); }

  Layout layout_;
  std::int64_t blocks_;
  std::vector<Team> teams_;
  Grid tiles_;
};

}  // namespace lu
