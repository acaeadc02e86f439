// Blocked right-looking LU without pivoting, as in SPLASH-2: A = L · U in place.
//
// Step k, for every block row and column k:
//   1. the owner of block (k, k) factors it                                              | barrier
//   2. owners of blocks below it solve for L, owners of blocks right of it for U         | barrier
//   3. every owner updates its blocks (i, j), i > k, j > k, with L(i, k) · U(k, j)
// Nothing follows 3: the next step's first writer is the owner of what it writes, and what 3 reads is final.
//
// Messages per step and rank: a get for every block of column k and row k that the rank needs and its node has not.
// Source: armci-multiprotocol, section 4.1; SPLASH-2 LU, contiguous blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block_matrix.hpp"

namespace lu {

/// Collective; ends with a barrier, after which the factors may be read. `refused` says that a pivot was zero or not
/// finite, which a column-dominant matrix cannot bring about.
grapnel::Status factor(BlockMatrix& matrix, BlockReader& reader);

/// 2n³/3: multiplications and additions of an LU factorization of n rows.
double factor_operations(std::int64_t n);

}  // namespace lu
