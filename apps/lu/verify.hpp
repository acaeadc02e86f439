// Are the factors right? A cheap check that all ranks share, and LAPACK's at rank 0.
//
// Both answers are scaled so that a correct factorization gives a number of order 1 whatever n and the matrix are:
//   product   max|A x − L (U x)| / (n · eps · ‖A‖∞ · max|x|), x random                    O(n²) work, no block moves
//   lapack    ‖A − L U‖₁ / (n · eps · ‖A‖₁), as LAPACK's own test DGET01                   O(n³) work at rank 0
// eps is LAPACK's, 2⁻⁵³. A residual up to kMaxResidual passes; whatever is not a number does not.
//
// `lapack` also runs dgetrf on the original matrix, asserts that it swapped no rows, and compares the factors:
//   ‖L − L'‖/‖L'‖ and ‖U − U'‖/‖U'‖ (Frobenius)  ≤  kMaxResidual · n · eps · ‖L'⁻¹‖₁ · ‖U'⁻¹‖₁ · ‖A‖₁
// which is how far factors can be from LAPACK's when their own residual passes: a small change of A, times the
// condition of the LU factorization.
// Source: G. W. Stewart, On the perturbation of LU, Cholesky, and QR factorizations, SIAM J. Matrix Anal. 14, 1993.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "block_matrix.hpp"

namespace lu {

inline constexpr double kMaxResidual = 10;

struct Verdict {
  bool good = false;
  double residual = 0;
  /// What was found, for the reader.
  std::vector<std::string> lines;
  /// Where not good: what is wrong.
  std::string why;
};

/// Collective: the cheap check. The verdict is complete at rank 0; the others' is empty.
grapnel::Result<Verdict> check_product(BlockMatrix& matrix, const Input& input);

/// Collective: all factors are read into rank 0, which compares. The verdict is complete there. Memory: 3n² doubles.
grapnel::Result<Verdict> check_against_lapack(BlockMatrix& matrix, const Input& input);

/// The second half of the above: `factors` and `original` are n × n, column-major, L and U in one.
Verdict compare_with_lapack(std::int64_t n, const std::vector<double>& factors, const std::vector<double>& original);

}  // namespace lu
