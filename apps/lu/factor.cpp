// The three phases of a step.
// SPDX-License-Identifier: Apache-2.0
#include "factor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lu {

using grapnel::Status;

namespace {

using Indices = std::vector<std::int64_t>;

class Factorization {
 public:
  Factorization(BlockMatrix& matrix, BlockReader& reader)
      : matrix_(matrix),
        reader_(reader),
        diagonal_buffer_(room(1)),
        left_(matrix.my_rows().size()),
        right_(matrix.my_columns().size()),
        left_buffer_(room(left_.size())),
        right_buffer_(room(right_.size())) {}

  Status run() {
    grapnel::Runtime& runtime = matrix_.runtime();
    for (std::int64_t k = 0; k < matrix_.blocks(); ++k) {
      GRAPNEL_TRY(diagonal(k));
      GRAPNEL_TRY(runtime.barrier());
      if (k + 1 == matrix_.blocks()) break;
      GRAPNEL_TRY(perimeter(k));
      GRAPNEL_TRY(runtime.barrier());
      GRAPNEL_TRY(interior(k));
    }
    return {};
  }

 private:
  std::size_t room(std::size_t blocks) const {
    return blocks * static_cast<std::size_t>(matrix_.block() * matrix_.block());
  }
  /// Where the indices beyond k begin.
  static std::size_t beyond(const Indices& indices, std::int64_t k) {
    return static_cast<std::size_t>(std::upper_bound(indices.begin(), indices.end(), k) - indices.begin());
  }
  static bool contains(const Indices& indices, std::int64_t k) {
    return std::binary_search(indices.begin(), indices.end(), k);
  }

  Status diagonal(std::int64_t k) {
    if (!matrix_.is_mine(k, k) || factor_diagonal(matrix_.own(k, k))) return {};
    return {grapnel::Code::refused, fmt::format("a pivot in rows {} to {} is zero or not finite", matrix_.first(k) + 1,
                                                matrix_.first(k) + matrix_.extent(k))};
  }

  Status perimeter(std::int64_t k) {
    const Indices &rows = matrix_.my_rows(), &columns = matrix_.my_columns();
    const bool below = contains(columns, k) && beyond(rows, k) < rows.size();
    const bool right = contains(rows, k) && beyond(columns, k) < columns.size();
    if (!below && !right) return {};
    Operand diagonal;
    GRAPNEL_TRY(reader_.start(k, k, diagonal_buffer_.data(), diagonal));
    GRAPNEL_TRY(reader_.finish(diagonal));
    if (below) {
      for (std::size_t i = beyond(rows, k); i < rows.size(); ++i) solve_upper(diagonal.view, matrix_.own(rows[i], k));
    }
    if (right) {
      for (std::size_t j = beyond(columns, k); j < columns.size(); ++j) {
        solve_lower(diagonal.view, matrix_.own(k, columns[j]));
      }
    }
    return {};
  }

  /// All gets are on their way before the first update, and what needs none of them is computed meanwhile.
  Status interior(std::int64_t k) {
    const Indices &rows = matrix_.my_rows(), &columns = matrix_.my_columns();
    const std::size_t first_row = beyond(rows, k), first_column = beyond(columns, k);
    if (first_row == rows.size() || first_column == columns.size()) return {};
    for (std::size_t i = first_row; i < rows.size(); ++i) {
      GRAPNEL_TRY(reader_.start(rows[i], k, &left_buffer_[room(i)], left_[i]));
    }
    for (std::size_t j = first_column; j < columns.size(); ++j) {
      GRAPNEL_TRY(reader_.start(k, columns[j], &right_buffer_[room(j)], right_[j]));
    }
    std::vector<Crossing> waiting;
    for (std::size_t j = first_column; j < columns.size(); ++j) {
      for (std::size_t i = first_row; i < rows.size(); ++i) {
        if (left_[i].under_way || right_[j].under_way) {
          waiting.push_back({i, j});
        } else {
          update(left_[i].view, right_[j].view, matrix_.own(rows[i], columns[j]));
        }
      }
    }
    for (const auto [i, j] : waiting) {
      GRAPNEL_TRY(reader_.finish(left_[i]));
      GRAPNEL_TRY(reader_.finish(right_[j]));
      update(left_[i].view, right_[j].view, matrix_.own(rows[i], columns[j]));
    }
    return {};
  }

  /// Places in `left_` and `right_` of the two operands of one update.
  struct Crossing {
    std::size_t i, j;
  };

  BlockMatrix& matrix_;
  BlockReader& reader_;
  std::vector<double> diagonal_buffer_;
  std::vector<Operand> left_, right_;  ///< L(i, k) for my rows i, U(k, j) for my columns j
  std::vector<double> left_buffer_, right_buffer_;
};

}  // namespace

Status factor(BlockMatrix& matrix, BlockReader& reader) { return Factorization(matrix, reader).run(); }

double factor_operations(std::int64_t n) {
  const double rows = static_cast<double>(n);
  return 2 * rows * rows * rows / 3;
}

}  // namespace lu
