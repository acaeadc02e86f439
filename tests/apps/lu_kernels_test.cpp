// The kernels on blocks: a 2 × 2 block factorization must reproduce the matrix.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "input.hpp"
#include "kernels.hpp"

namespace lu {
namespace {

struct Block {
  Block(const Input& input, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns)
      : data(static_cast<std::size_t>(rows * columns)), extent{rows, columns} {
    input.fill(row, column, view());
  }
  BlockView view() { return {data.data(), extent[0], extent[1]}; }
  ConstBlockView read() const { return {data.data(), extent[0], extent[1]}; }
  std::vector<double> data;
  std::int64_t extent[2];
};

TEST(Kernels, FactorTheFourBlocksOfAMatrix) {
  use_one_blas_thread();
  const std::int64_t n = 23, head = 14, tail = n - head;
  const Input input = Input::generated(n, 3);
  Block a(input, 0, 0, head, head), b(input, 0, head, head, tail), c(input, head, 0, tail, head),
      d(input, head, head, tail, tail);
  ASSERT_TRUE(factor_diagonal(a.view()));
  solve_upper(a.read(), c.view());
  solve_lower(a.read(), b.view());
  update(c.read(), b.read(), d.view());
  ASSERT_TRUE(factor_diagonal(d.view()));
  const auto factor = [&](std::int64_t i, std::int64_t j) {
    const Block& block = i < head ? (j < head ? a : b) : (j < head ? c : d);
    return block.data[(i < head ? i : i - head) + (j < head ? j : j - head) * block.extent[0]];
  };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k <= std::min(i, j); ++k) sum += (k == i ? 1 : factor(i, k)) * factor(k, j);
      EXPECT_NEAR(sum, input.element(i, j), 1e-12) << i << ' ' << j;
    }
  }
}

TEST(Kernels, AZeroPivotIsSeen) {
  double singular[] = {1, 2, 2, 4};
  EXPECT_FALSE(factor_diagonal({singular, 2, 2}));
  double unusable[] = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_FALSE(factor_diagonal({unusable, 1, 1}));
}

}  // namespace
}  // namespace lu
