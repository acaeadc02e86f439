// Generated elements, and the condition on a file's.
// SPDX-License-Identifier: Apache-2.0
#include "input.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace lu {

namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

double random_number(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t bits = mixed(mixed(mixed(seed) ^ a) ^ b);
  return std::ldexp(static_cast<double>(bits >> 11), -52) - 1;
}

Input Input::generated(std::int64_t n, std::uint64_t seed) {
  Input input;
  input.generated_ = true;
  input.seed_ = seed;
  input.matrix_.n = n;
  return input;
}

Input Input::from_file(SparseMatrix matrix) {
  Input input;
  input.matrix_ = std::move(matrix);
  return input;
}

double Input::element(std::int64_t row, std::int64_t column) const {
  const double value = random_number(seed_, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column));
  if (row != column) return value;
  // The other n − 1 elements of the column have magnitudes of at most 1, so n outweighs them. Both signs occur.
  const double magnitude = static_cast<double>(n()) + std::abs(value);
  return value < 0 ? -magnitude : magnitude;
}

void Input::fill(std::int64_t first_row, std::int64_t first_column, BlockView block) const {
  for (std::int64_t j = 0; j < block.columns; ++j) {
    for (std::int64_t i = 0; i < block.rows; ++i) {
      block.data[i + j * block.rows] = element(first_row + i, first_column + j);
    }
  }
}

std::vector<double> Input::dense() const {
  std::vector<double> all(static_cast<std::size_t>(n() * n()));
  if (generated_) {
    fill(0, 0, {all.data(), n(), n()});
    return all;
  }
  for (const Entry& entry : entries()) all[entry.row + entry.column * n()] = entry.value;
  return all;
}

std::optional<std::string> needs_pivoting(const SparseMatrix& matrix) {
  std::vector<double> diagonal(matrix.n), others(matrix.n);
  for (const Entry& entry : matrix.entries) {
    (entry.row == entry.column ? diagonal : others)[entry.column] += std::abs(entry.value);
  }
  // Elimination keeps a column's surplus (in exact arithmetic it never shrinks); rounding may take this much of it.
  const double rounding = 4 * static_cast<double>(matrix.n) * std::numeric_limits<double>::epsilon();
  std::int64_t failing = 0, worst = 0;
  double worst_lack = 0;
  for (std::int64_t j = 0; j < matrix.n; ++j) {
    const double lack = others[j] + rounding * (others[j] + diagonal[j]) - diagonal[j];
    if (lack < 0) continue;
    if (failing == 0 || lack > worst_lack) worst = j, worst_lack = lack;
    ++failing;
  }
  if (failing == 0) return std::nullopt;
  return fmt::format(
      "the matrix may need pivoting, which this LU does not do: {} of {} columns are not strictly dominated by their "
      "diagonal element; the worst is column {}: |diagonal| = {:.6g}, the others sum to {:.6g}, it lacks {:.3g}",
      failing, matrix.n, worst + 1, diagonal[worst], others[worst], worst_lack);
}

}  // namespace lu
