// What is done to one block: factor, two triangular solves, one update. Column-major, as BLAS wants it.
//
// The kernels are BLAS calls except the factorization of a diagonal block, because LAPACK has none without pivoting.
// Threads: pure functions of their arguments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lu {

/// A rows × columns view, column-major without gaps: element (i, j) is data[i + j · rows].
struct BlockView {
  double* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

struct ConstBlockView {
  const double* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Keeps the BLAS of this process to the calling thread: a rank is one worker, and ranks fill the machine already.
/// To be called once, before any kernel. OpenBLAS is told through its own documented call, if it is what was loaded.
void use_one_blas_thread();

/// block = L · U in place, unit diagonal of L implied. False: a pivot was zero or not finite; the block is then
/// damaged.
bool factor_diagonal(BlockView block);
/// block = L⁻¹ · block, with L the unit lower triangle of `diagonal`: a block right of the diagonal.
void solve_lower(ConstBlockView diagonal, BlockView block);
/// block = block · U⁻¹, with U the upper triangle of `diagonal`: a block below the diagonal.
void solve_upper(ConstBlockView diagonal, BlockView block);
/// block −= left · right.
void update(ConstBlockView left, ConstBlockView right, BlockView block);

}  // namespace lu
