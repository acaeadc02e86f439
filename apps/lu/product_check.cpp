// The cheap check: every rank multiplies its own blocks with a vector, and the pieces are accumulated at rank 0.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify.hpp"

namespace lu {

using grapnel::Rank;
using grapnel::Result;
using grapnel::Status;

namespace {

using Vector = std::vector<double>;

/// y += A-block · x, or the part of it that belongs to L (unit diagonal) or U where the block is a diagonal one.
enum class Part { all, lower, upper };

void multiply_block(Part part, ConstBlockView block, const double* x, double* y) {
  for (std::int64_t j = 0; j < block.columns; ++j) {
    const double* column = block.data + j * block.rows;
    const std::int64_t begin = part == Part::lower ? std::min(j + 1, block.rows) : 0;
    const std::int64_t end = part == Part::upper ? std::min(j + 1, block.rows) : block.rows;
    for (std::int64_t i = begin; i < end; ++i) y[i] += column[i] * x[j];
    if (part == Part::lower) y[j] += x[j];
  }
}

class ProductCheck {
 public:
  ProductCheck(BlockMatrix& matrix, const Input& input) : matrix_(matrix), input_(input), x_(matrix.n()) {
    // A seed of its own: x must not be a row of the matrix.
    for (std::int64_t i = 0; i < matrix.n(); ++i)
      x_[i] = random_number(~input.seed(), static_cast<std::uint64_t>(i), 7);
  }

  Result<Verdict> run() {
    grapnel::Runtime& runtime = matrix_.runtime();
    const bool sums = runtime.rank() == Rank{0};
    auto memory = runtime.allocate(sums ? 3 * bytes() : 0);
    if (!memory) return memory.status();
    sums_ = static_cast<double*>(memory->on(Rank{0}));
    GRAPNEL_TRY(add_upper_product());
    GRAPNEL_TRY(runtime.barrier());
    GRAPNEL_TRY(add_residual());
    GRAPNEL_TRY(runtime.barrier());
    Verdict verdict;
    if (sums) verdict = judge();
    GRAPNEL_TRY(runtime.free(*memory));
    return verdict;
  }

 private:
  std::size_t bytes() const { return x_.size() * sizeof(double); }
  /// Rank 0's three vectors: U x, A x − L (U x), and the row sums of |A|.
  double* upper_product() const { return sums_; }
  double* residual() const { return sums_ + x_.size(); }
  double* row_sums() const { return sums_ + 2 * x_.size(); }

  Status add(const Vector& mine, double* to) {
    return matrix_.runtime().accumulate(grapnel::ElementType::float64, nullptr, mine.data(), to, bytes(), Rank{0});
  }

  template <typename Visit>
  void for_my_blocks(Visit visit) {
    for (const std::int64_t column : matrix_.my_columns()) {
      for (const std::int64_t row : matrix_.my_rows()) visit(row, column);
    }
  }

  ConstBlockView own(std::int64_t row, std::int64_t column) const {
    const BlockView block = matrix_.own(row, column);
    return {block.data, block.rows, block.columns};
  }

  Status add_upper_product() {
    Vector mine(x_.size());
    for_my_blocks([&](std::int64_t row, std::int64_t column) {
      if (row > column) return;
      multiply_block(row == column ? Part::upper : Part::all, own(row, column), &x_[matrix_.first(column)],
                     &mine[matrix_.first(row)]);
    });
    return add(mine, upper_product());
  }

  Status add_residual() {
    Vector ux(x_.size());
    GRAPNEL_TRY(matrix_.runtime().get(upper_product(), ux.data(), bytes(), Rank{0}));
    Vector mine(x_.size());
    for_my_blocks([&](std::int64_t row, std::int64_t column) {
      if (row < column) return;
      multiply_block(row == column ? Part::lower : Part::all, own(row, column), &ux[matrix_.first(column)],
                     &mine[matrix_.first(row)]);
    });
    for (double& value : mine) value = -value;
    Vector sums(x_.size());
    add_original(mine, sums);
    GRAPNEL_TRY(add(mine, residual()));
    return add(sums, row_sums());
  }

  /// product += A x and sums += row sums of |A|, for the part of A that this rank can make.
  void add_original(Vector& product, Vector& sums) {
    const auto add_element = [&](std::int64_t row, std::int64_t column, double value) {
      product[row] += value * x_[column];
      sums[row] += std::abs(value);
    };
    // Of a file's matrix rank 0 has all and the others nothing.
    for (const Entry& entry : input_.entries()) add_element(entry.row, entry.column, entry.value);
    if (!input_.is_generated()) return;
    for_my_blocks([&](std::int64_t row, std::int64_t column) {
      for (std::int64_t j = matrix_.first(column); j < matrix_.first(column) + matrix_.extent(column); ++j) {
        for (std::int64_t i = matrix_.first(row); i < matrix_.first(row) + matrix_.extent(row); ++i) {
          add_element(i, j, input_.element(i, j));
        }
      }
    });
  }

  Verdict judge() const {
    const double eps = std::numeric_limits<double>::epsilon() / 2;
    double norm = 0, largest = 0, difference = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      norm = std::max(norm, row_sums()[i]);
      largest = std::max(largest, std::abs(x_[i]));
      // Written so that what is not a number stays: max(a, NaN) is a.
      if (!(std::abs(residual()[i]) <= difference)) difference = std::abs(residual()[i]);
      if (std::isnan(difference)) break;
    }
    Verdict verdict;
    verdict.residual = difference / (static_cast<double>(x_.size()) * eps * norm * largest);
    verdict.good = verdict.residual <= kMaxResidual;
    verdict.lines.push_back(fmt::format("check          max|Ax - LUx| / (n eps |A| |x|) = {:.3g}, allowed {}",
                                        verdict.residual, kMaxResidual));
    if (!verdict.good)
      verdict.why =
          fmt::format("the factors do not reproduce the matrix: A x differs from L U x by {:.3g}", verdict.residual);
    return verdict;
  }

  BlockMatrix& matrix_;
  const Input& input_;
  Vector x_;
  double* sums_ = nullptr;
};

}  // namespace

Result<Verdict> check_product(BlockMatrix& matrix, const Input& input) { return ProductCheck(matrix, input).run(); }

}  // namespace lu
