// Allocation, filling and reading of the distributed matrix.
// SPDX-License-Identifier: Apache-2.0
#include "block_matrix.hpp"

#include <algorithm>
#include <tuple>

namespace lu {

using grapnel::Rank;
using grapnel::Result;
using grapnel::Status;

BlockMatrix::BlockMatrix(grapnel::Runtime& runtime, Distribution distribution, std::int64_t n, std::int64_t block)
    : runtime_(&runtime), distribution_(std::move(distribution)), n_(n), block_(block) {
  const int me = static_cast<int>(runtime.rank());
  my_rows_ = distribution_.rows_of(me);
  my_columns_ = distribution_.columns_of(me);
}

Result<BlockMatrix> BlockMatrix::create(grapnel::Runtime& runtime, Distribution distribution, std::int64_t n,
                                        std::int64_t block) {
  BlockMatrix matrix(runtime, std::move(distribution), n, block);
  const std::size_t mine = matrix.my_rows_.size() * matrix.my_columns_.size();
  auto memory = runtime.allocate(mine * static_cast<std::size_t>(block * block) * sizeof(double));
  if (!memory) return memory.status();
  matrix.memory_ = std::move(memory).value();
  return matrix;
}

Status BlockMatrix::destroy() { return runtime_->free(memory_); }

Rank BlockMatrix::owner(std::int64_t row, std::int64_t column) const {
  return Rank{distribution_.place(row, column).owner};
}

double* BlockMatrix::address(std::int64_t row, std::int64_t column) const {
  const Place place = distribution_.place(row, column);
  return static_cast<double*>(memory_.on(Rank{place.owner})) + place.slot * block_ * block_;
}

Status BlockMatrix::load(const Input& input) {
  if (input.is_generated()) {
    for (const std::int64_t column : my_columns_) {
      for (const std::int64_t row : my_rows_) input.fill(first(row), first(column), own(row, column));
    }
  } else if (runtime_->rank() == Rank{0}) {
    GRAPNEL_TRY(scatter(input));
  }
  return runtime_->barrier();
}

Status BlockMatrix::scatter(const Input& input) {
  // Grouped by block; blocks without an element stay as they were allocated: zero.
  std::vector<Entry> entries(input.entries().begin(), input.entries().end());
  const auto block_of = [this](const Entry& entry) { return std::tuple(entry.column / block_, entry.row / block_); };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Entry& a, const Entry& b) { return block_of(a) < block_of(b); });
  std::vector<double> buffer;
  for (std::size_t next = 0; next < entries.size();) {
    const auto [column, row] = block_of(entries[next]);
    buffer.assign(static_cast<std::size_t>(extent(row) * extent(column)), 0.0);
    for (; next < entries.size() && block_of(entries[next]) == std::tuple(column, row); ++next) {
      const Entry& entry = entries[next];
      buffer[(entry.row - first(row)) + (entry.column - first(column)) * extent(row)] = entry.value;
    }
    GRAPNEL_TRY(runtime_->put(buffer.data(), address(row, column), block_bytes(row, column), owner(row, column)));
  }
  return {};
}

Status BlockReader::start(std::int64_t row, std::int64_t column, double* buffer, Operand& operand) {
  const Rank owner = matrix_.owner(row, column);
  const std::size_t bytes = matrix_.block_bytes(row, column);
  double* const address = matrix_.address(row, column);
  operand = Operand{{address, matrix_.extent(row), matrix_.extent(column)}, false, {}};
  if (owner == matrix_.runtime().rank()) {
    ++counts_.own_blocks;
    counts_.own_bytes += bytes;
    return {};
  }
  if (matrix_.runtime().same_node(owner)) {
    ++counts_.pointer_blocks;
    counts_.pointer_bytes += bytes;
    return {};
  }
  ++counts_.get_blocks;
  counts_.get_bytes += bytes;
  operand.view.data = buffer;
  operand.under_way = true;
  return matrix_.runtime().start_get(address, buffer, bytes, owner, &operand.handle);
}

Status BlockReader::finish(Operand& operand) {
  if (!operand.under_way) return {};
  operand.under_way = false;
  return matrix_.runtime().wait(operand.handle);
}

}  // namespace lu
