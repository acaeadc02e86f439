// The whole check: gather at rank 0, factor again with LAPACK, compare, multiply back.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lapack.hpp"
#include "verify.hpp"

namespace lu {

using grapnel::Rank;
using grapnel::Result;
using grapnel::Status;

namespace {

using Dense = std::vector<double>;

constexpr double kEps = std::numeric_limits<double>::epsilon() / 2;
constexpr double kOne = 1;

/// Reads every block into its place in a dense matrix: by pointer on my node, by strided get elsewhere.
Status gather(BlockMatrix& matrix, Dense& dense) {
  grapnel::Runtime& runtime = matrix.runtime();
  const std::int64_t n = matrix.n();
  for (std::int64_t column = 0; column < matrix.blocks(); ++column) {
    for (std::int64_t row = 0; row < matrix.blocks(); ++row) {
      const std::int64_t rows = matrix.extent(row), columns = matrix.extent(column);
      const double* from = matrix.address(row, column);
      double* to = &dense[matrix.first(row) + matrix.first(column) * n];
      const Rank owner = matrix.owner(row, column);
      if (runtime.same_node(owner)) {
        for (std::int64_t j = 0; j < columns; ++j) std::memcpy(to + j * n, from + j * rows, rows * sizeof(double));
        continue;
      }
      grapnel::Strided there;
      there.levels = 1;
      there.count[0] = rows * static_cast<std::int64_t>(sizeof(double));
      there.count[1] = columns;
      there.stride[0] = there.count[0];
      grapnel::Strided here = there;
      here.stride[0] = n * static_cast<std::int64_t>(sizeof(double));
      GRAPNEL_TRY(runtime.start_get(from, there, to, here, owner));
    }
  }
  return runtime.wait_implicit();
}

/// Largest column sum of magnitudes; NaN where there is one.
double norm_1(std::int64_t n, const Dense& matrix) {
  double norm = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::abs(matrix[i + j * n]);
    if (!(sum <= norm)) norm = sum;
    if (std::isnan(norm)) break;
  }
  return norm;
}

/// ‖T⁻¹‖₁ of the lower (unit) or upper triangle of `factors`, estimated by LAPACK.
double inverse_norm(const char* triangle, std::int64_t n, const Dense& factors) {
  const bool lower = *triangle == 'L';
  const int size = static_cast<int>(n);
  double norm = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = lower ? 1 : 0;
    for (std::int64_t i = lower ? j + 1 : 0; i < (lower ? n : j + 1); ++i) sum += std::abs(factors[i + j * n]);
    norm = std::max(norm, sum);
  }
  double reciprocal = 0;
  int info = 0;
  std::vector<double> work(3 * static_cast<std::size_t>(n));
  std::vector<int> integer_work(static_cast<std::size_t>(n));
  dtrcon_("1", triangle, lower ? "U" : "N", &size, factors.data(), &size, &reciprocal, work.data(), integer_work.data(),
          &info, 1, 1, 1);
  return 1 / (reciprocal * norm);
}

/// Frobenius norms of the differences of the two factors, each relative to the reference's.
struct Distance {
  double lower = 0, upper = 0;
};

Distance distance(std::int64_t n, const Dense& factors, const Dense& reference) {
  double lower = 0, upper = 0;
  double lower_norm = static_cast<double>(n), upper_norm = 0;  // L's unit diagonal is not stored
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double value = reference[i + j * n], difference = factors[i + j * n] - value;
      (i > j ? lower : upper) += difference * difference;
      (i > j ? lower_norm : upper_norm) += value * value;
    }
  }
  return {std::sqrt(lower / lower_norm), std::sqrt(upper / upper_norm)};
}

/// ‖A − L U‖₁ / (n · eps · ‖A‖₁); `product` is scratch of n².
double scaled_residual(std::int64_t n, const Dense& factors, const Dense& original, Dense& product) {
  const int size = static_cast<int>(n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) product[i + j * n] = i <= j ? factors[i + j * n] : 0;
  }
  dtrmm_("L", "L", "N", "U", &size, &size, &kOne, factors.data(), &size, product.data(), &size, 1, 1, 1, 1);
  for (std::size_t i = 0; i < product.size(); ++i) product[i] = original[i] - product[i];
  return norm_1(n, product) / (static_cast<double>(n) * kEps * norm_1(n, original));
}

}  // namespace

Verdict compare_with_lapack(std::int64_t n, const Dense& factors, const Dense& original) {
  Verdict verdict;
  const auto refuse = [&verdict](std::string why) {
    verdict.good = false;
    verdict.why = std::move(why);
    return verdict;
  };
  const int size = static_cast<int>(n);
  int info = 0;
  std::vector<int> pivots(static_cast<std::size_t>(n));
  Dense reference = original;
  dgetrf_(&size, &size, reference.data(), &size, pivots.data(), &info);
  if (info != 0) return refuse(fmt::format("LAPACK's dgetrf could not factor the matrix: info = {}", info));
  for (int i = 0; i < size; ++i) {
    if (pivots[i] != i + 1) {
      return refuse(
          fmt::format("LAPACK's dgetrf swapped rows {} and {}: the factors cannot be compared", i + 1, pivots[i]));
    }
  }
  const double allowed = kMaxResidual * static_cast<double>(n) * kEps * inverse_norm("L", n, reference) *
                         inverse_norm("U", n, reference) * norm_1(n, original);
  const Distance apart = distance(n, factors, reference);
  verdict.lines.push_back("dgetrf         swapped no rows");
  verdict.lines.push_back(fmt::format("factors        |L - L'|/|L'| = {:.3g}, |U - U'|/|U'| = {:.3g}, allowed {:.3g}",
                                      apart.lower, apart.upper, allowed));
  verdict.residual = scaled_residual(n, factors, original, reference);
  verdict.lines.push_back(
      fmt::format("residual       |A - LU| / (n eps |A|) = {:.3g}, allowed {}", verdict.residual, kMaxResidual));
  // Each comparison is false for what is not a number.
  if (!(apart.lower <= allowed && apart.upper <= allowed)) return refuse("the factors differ from LAPACK's");
  if (!(verdict.residual <= kMaxResidual)) return refuse("the factors do not reproduce the matrix: A differs from L U");
  verdict.good = true;
  return verdict;
}

Result<Verdict> check_against_lapack(BlockMatrix& matrix, const Input& input) {
  Verdict verdict;
  if (matrix.runtime().rank() == Rank{0}) {
    Dense factors(static_cast<std::size_t>(matrix.n() * matrix.n()));
    GRAPNEL_TRY(gather(matrix, factors));
    verdict = compare_with_lapack(matrix.n(), factors, input.dense());
  }
  GRAPNEL_TRY(matrix.runtime().barrier());
  return verdict;
}

}  // namespace lu
