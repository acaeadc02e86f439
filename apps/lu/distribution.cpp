// Tiles for teams, then block-cyclic inside a tile.
// SPDX-License-Identifier: Apache-2.0
#include "distribution.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lu {

namespace {

/// How many of 0 … length − 1 are ≡ seat modulo seats.
std::int64_t dealt_count(std::int64_t length, int seat, int seats) {
  return length <= seat ? 0 : (length - seat - 1) / seats + 1;
}

std::vector<std::vector<int>> teams_of(Layout layout, const std::vector<int>& node_by_rank) {
  const int size = static_cast<int>(node_by_rank.size());
  std::vector<std::vector<int>> teams;
  for (int rank = 0; rank < size; ++rank) {
    const int team = layout == Layout::cyclic ? 0 : layout == Layout::block ? rank : node_by_rank[rank];
    if (team >= static_cast<int>(teams.size())) teams.resize(team + 1);
    teams[team].push_back(rank);
  }
  return teams;
}

}  // namespace

const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::cyclic: return "cyclic";
    case Layout::block: return "block";
    case Layout::node: return "node";
  }
  return "?";
}

Grid squarest_grid(int count, Grid tiles) {
  Grid best{1, count};
  const auto cost = [tiles](Grid grid) {
    const int skew = std::abs(tiles.rows * grid.rows - tiles.columns * grid.columns);
    const int copies = grid.rows * (tiles.rows - 1) + grid.columns * (tiles.columns - 1);
    return std::pair(skew, copies);
  };
  for (int rows = 2; rows <= count; ++rows) {
    const Grid grid{rows, count / rows};
    if (count % rows == 0 && cost(grid) < cost(best)) best = grid;
  }
  return best;
}

Distribution::Distribution(Layout layout, std::int64_t blocks, const std::vector<int>& node_by_rank)
    : layout_(layout), blocks_(blocks) {
  auto teams = teams_of(layout, node_by_rank);
  tiles_ = squarest_grid(static_cast<int>(teams.size()));
  for (auto& ranks : teams) {
    const Grid grid = squarest_grid(static_cast<int>(ranks.size()), tiles_);
    teams_.push_back({std::move(ranks), grid});
  }
}

Place Distribution::place(std::int64_t block_row, std::int64_t block_column) const {
  const int tile_row = tile_of(block_row, tiles_.rows);
  const int tile_column = tile_of(block_column, tiles_.columns);
  const Team& team = teams_[tile_row * tiles_.columns + tile_column];
  const std::int64_t row = block_row - tile_begin(tile_row, tiles_.rows);
  const std::int64_t column = block_column - tile_begin(tile_column, tiles_.columns);
  const std::int64_t tile_width = tile_begin(tile_column + 1, tiles_.columns) - tile_begin(tile_column, tiles_.columns);
  const int seat_row = static_cast<int>(row % team.grid.rows);
  const int seat_column = static_cast<int>(column % team.grid.columns);
  const std::int64_t owned_columns = dealt_count(tile_width, seat_column, team.grid.columns);
  return {team.ranks[seat_row * team.grid.columns + seat_column],
          row / team.grid.rows * owned_columns + column / team.grid.columns};
}

Distribution::Seat Distribution::seat_of(int rank) const {
  for (std::size_t team = 0; team < teams_.size(); ++team) {
    const auto& ranks = teams_[team].ranks;
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    if (found == ranks.end()) continue;
    const int tile = static_cast<int>(team);
    const int seat = static_cast<int>(found - ranks.begin());
    const int columns = teams_[team].grid.columns;
    return {tile / tiles_.columns, tile % tiles_.columns, seat / columns, seat % columns};
  }
  return {};
}

std::vector<std::int64_t> Distribution::dealt(int tile, int tiles, int seat, int seats) const {
  std::vector<std::int64_t> mine;
  for (std::int64_t block = tile_begin(tile, tiles) + seat; block < tile_begin(tile + 1, tiles); block += seats) {
    mine.push_back(block);
  }
  return mine;
}

std::vector<std::int64_t> Distribution::rows_of(int rank) const {
  const Seat seat = seat_of(rank);
  const Team& team = teams_[seat.tile_row * tiles_.columns + seat.tile_column];
  return dealt(seat.tile_row, tiles_.rows, seat.row, team.grid.rows);
}

std::vector<std::int64_t> Distribution::columns_of(int rank) const {
  const Seat seat = seat_of(rank);
  const Team& team = teams_[seat.tile_row * tiles_.columns + seat.tile_column];
  return dealt(seat.tile_column, tiles_.columns, seat.column, team.grid.columns);
}

std::int64_t Distribution::owned_blocks(int rank) const {
  return static_cast<std::int64_t>(rows_of(rank).size() * columns_of(rank).size());
}

}  // namespace lu
