// The matrix to factor: generated from a seed, or read from a file by rank 0.
//
// A generated element is a function of (seed, row, column), so every rank makes its own blocks and rank 0 can make the
// matrix again for the checks. A file's elements exist at rank 0 only; the others know the size.
//
// Without pivoting, LU is stable where every diagonal element outweighs the rest of its column. That is what is asked
// of a file (by rows would be stable too, but LAPACK would then swap rows and its factors be others).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "matrix_market.hpp"

namespace lu {

class Input {
 public:
  static Input generated(std::int64_t n, std::uint64_t seed);
  /// `matrix` is complete at rank 0 and has only its size elsewhere.
  static Input from_file(SparseMatrix matrix);

  std::int64_t n() const { return matrix_.n; }
  bool is_generated() const { return generated_; }
  std::uint64_t seed() const { return seed_; }
  std::span<const Entry> entries() const { return matrix_.entries; }

  /// Element (row, column) of a generated matrix: in [-1, 1) off the diagonal, of magnitude n … n+1 on it.
  double element(std::int64_t row, std::int64_t column) const;
  /// Fills a block of a generated matrix whose upper left element is (first_row, first_column).
  void fill(std::int64_t first_row, std::int64_t first_column, BlockView block) const;
  /// The whole matrix, column-major, n × n; of a file's matrix only at rank 0.
  std::vector<double> dense() const;

 private:
  bool generated_ = false;
  std::uint64_t seed_ = 0;
  SparseMatrix matrix_;
};

/// A number in [-1, 1) that depends on nothing but its arguments. Also the source of the checks' vector.
double random_number(std::uint64_t seed, std::uint64_t a, std::uint64_t b);

/// Why the matrix may need pivoting: how many columns are not strictly dominated by their diagonal element, which is
/// worst and what it lacks. Nothing where all are, by more than rounding could undo.
std::optional<std::string> needs_pivoting(const SparseMatrix& matrix);

}  // namespace lu
