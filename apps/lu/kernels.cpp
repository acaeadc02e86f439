// Block kernels over BLAS.
// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>

#include "lapack.hpp"

namespace lu {

namespace {

constexpr double kOne = 1;
constexpr double kMinusOne = -1;
constexpr int kStep = 1;

/// A leading dimension of 0 is an error to BLAS even where nothing is touched.
int leading(std::int64_t rows) { return static_cast<int>(std::max<std::int64_t>(rows, 1)); }

}  // namespace

void use_one_blas_thread() {
  // Which BLAS runs is decided by the machine's alternatives when the program starts, so this is looked up, not linked.
  using SetThreads = void (*)(int);
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) reinterpret_cast<SetThreads>(symbol)(1);
}

bool factor_diagonal(BlockView block) {
  const std::int64_t size = block.rows;
  const int stride = leading(size);
  for (std::int64_t k = 0; k < size; ++k) {
    double* column = block.data + k * size;
    const double pivot = column[k];
    if (pivot == 0 || !std::isfinite(pivot)) return false;
    for (std::int64_t i = k + 1; i < size; ++i) column[i] /= pivot;
    const int rest = static_cast<int>(size - k - 1);
    if (rest == 0) break;
    double* next = column + size;
    dger_(&rest, &rest, &kMinusOne, column + k + 1, &kStep, next + k, &stride, next + k + 1, &stride);
  }
  return true;
}

void solve_lower(ConstBlockView diagonal, BlockView block) {
  const int rows = static_cast<int>(block.rows), columns = static_cast<int>(block.columns);
  const int stride = leading(diagonal.rows), block_stride = leading(block.rows);
  dtrsm_("L", "L", "N", "U", &rows, &columns, &kOne, diagonal.data, &stride, block.data, &block_stride, 1, 1, 1, 1);
}

void solve_upper(ConstBlockView diagonal, BlockView block) {
  const int rows = static_cast<int>(block.rows), columns = static_cast<int>(block.columns);
  const int stride = leading(diagonal.rows), block_stride = leading(block.rows);
  dtrsm_("R", "U", "N", "N", &rows, &columns, &kOne, diagonal.data, &stride, block.data, &block_stride, 1, 1, 1, 1);
}

void update(ConstBlockView left, ConstBlockView right, BlockView block) {
  const int rows = static_cast<int>(block.rows), columns = static_cast<int>(block.columns);
  const int inner = static_cast<int>(left.columns);
  const int left_stride = leading(left.rows), right_stride = leading(right.rows), block_stride = leading(block.rows);
  dgemm_("N", "N", &rows, &columns, &inner, &kMinusOne, left.data, &left_stride, right.data, &right_stride, &kOne,
         block.data, &block_stride, 1, 1);
}

}  // namespace lu
