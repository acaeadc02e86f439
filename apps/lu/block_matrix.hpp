// The distributed matrix: every rank holds its own blocks in one allocation; every rank can name every block.
//
// A block is column-major without gaps; the blocks at the lower and right edge are smaller when the block size does not
// divide n. A rank's blocks stand in slots of block² elements.
//
// Reading another rank's block is the point of the exercise: one of my node is used where it lies, by pointer; one of
// another node is fetched by a nonblocking get into a buffer of the caller's.
//
// Invariants:
// 1. Only its owner writes a block (rank 0 writes all of a file's matrix before the first barrier).
// 2. A block is read by others only after a barrier that follows its last write.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "distribution.hpp"
#include "grapnel/runtime.hpp"
#include "input.hpp"
#include "kernels.hpp"

namespace lu {

/// Blocks that computations used as operands, by the way they were reached. Plain sums, so ranks can be added up.
struct ReadCounts {
  std::uint64_t own_blocks = 0, own_bytes = 0;
  std::uint64_t pointer_blocks = 0, pointer_bytes = 0;  ///< of other ranks of the node, in place
  std::uint64_t get_blocks = 0, get_bytes = 0;          ///< of other nodes
};

class BlockMatrix {
 public:
  /// Collective. no_memory on all ranks when one rank's blocks do not fit.
  static grapnel::Result<BlockMatrix> create(grapnel::Runtime& runtime, Distribution distribution, std::int64_t n,
                                             std::int64_t block);
  /// Collective: gives the memory back.
  grapnel::Status destroy();
  /// Own blocks of a generated matrix; all blocks, by put from rank 0, of a file's. Ends with a barrier.
  grapnel::Status load(const Input& input);

  grapnel::Runtime& runtime() const { return *runtime_; }
  const Distribution& distribution() const { return distribution_; }
  std::int64_t n() const { return n_; }
  std::int64_t block() const { return block_; }
  std::int64_t blocks() const { return distribution_.blocks(); }
  /// The first row of a block row, and how many it has; columns alike.
  std::int64_t first(std::int64_t index) const { return index * block_; }
  std::int64_t extent(std::int64_t index) const { return std::min(block_, n_ - first(index)); }
  std::size_t block_bytes(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(extent(row) * extent(column)) * sizeof(double);
  }

  /// The block rows and columns, ascending, whose crossings are mine.
  const std::vector<std::int64_t>& my_rows() const { return my_rows_; }
  const std::vector<std::int64_t>& my_columns() const { return my_columns_; }
  grapnel::Rank owner(std::int64_t row, std::int64_t column) const;
  bool is_mine(std::int64_t row, std::int64_t column) const { return owner(row, column) == runtime_->rank(); }
  /// The owner's address of the block: to be dereferenced on the owner's node, to be handed to put and get elsewhere.
  double* address(std::int64_t row, std::int64_t column) const;
  BlockView own(std::int64_t row, std::int64_t column) const {
    return {address(row, column), extent(row), extent(column)};
  }

 private:
  BlockMatrix(grapnel::Runtime& runtime, Distribution distribution, std::int64_t n, std::int64_t block);
  grapnel::Status scatter(const Input& input);

  grapnel::Runtime* runtime_;
  Distribution distribution_;
  std::int64_t n_;
  std::int64_t block_;
  std::vector<std::int64_t> my_rows_;
  std::vector<std::int64_t> my_columns_;
  grapnel::Memory memory_;
};

/// A block somebody wants to read: usable at once where it is mapped, after `finish` where a get is under way.
struct Operand {
  ConstBlockView view;
  bool under_way = false;
  grapnel::Handle handle;
};

/// Reads blocks and counts how.
class BlockReader {
 public:
  explicit BlockReader(const BlockMatrix& matrix) : matrix_(matrix) {}
  /// `buffer` has room for block² elements, is used only for blocks of other nodes, and belongs to the operand while
  /// that is used.
  grapnel::Status start(std::int64_t row, std::int64_t column, double* buffer, Operand& operand);
  grapnel::Status finish(Operand& operand);
  const ReadCounts& counts() const { return counts_; }

 private:
  const BlockMatrix& matrix_;
  ReadCounts counts_;
};

}  // namespace lu
