// The transform of a row and of a cube, and that the checks find what is wrong.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "check.hpp"
#include "cube.hpp"

namespace fft3d {

namespace {

/// The forward transform of the start, turned.
std::vector<Complex> transformed(std::size_t n) {
  std::vector<Complex> cube(n * n * n);
  std::vector<Complex> turned(cube.size());
  for (std::size_t i = 0; i < cube.size(); ++i) cube[i] = start_value(i);
  const Transform transform(n);
  transform_planes(transform, cube.data(), n, 0, n, Direction::forward);
  turn(cube.data(), turned.data(), n, 0, n);
  transform_turned(transform, turned.data(), n, 0, n, Direction::forward);
  return turned;
}

}  // namespace

TEST(Fft3d, RowsAreTheirDefinition) {
  for (const std::size_t n : {1, 2, 4, 8, 64}) {
    for (const Direction direction : {Direction::forward, Direction::inverse}) {
      std::vector<Complex> row(n);
      for (std::size_t i = 0; i < n; ++i) row[i] = start_value(i);
      const std::vector<Complex> start = row;
      Transform(n).run(row.data(), direction);
      for (std::size_t k = 0; k < n; ++k) {
        Complex sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const Complex root = root_of_unity(i * k, n);
          sum += start[i] * (direction == Direction::forward ? root : std::conj(root));
        }
        EXPECT_LT(std::abs(row[k] - sum), 1e-13 * static_cast<double>(n)) << n << ", " << k;
      }
    }
  }
}

TEST(Fft3d, TheCubeIsRightAndTheChecksFindWhereItIsNot) {
  for (const std::size_t n : {1, 2, 8, 16}) {
    std::vector<Complex> turned = transformed(n);
    EXPECT_LT(error_at_samples(turned.data(), n), kMostError);
    EXPECT_LT(error_against_fftw(turned.data(), n).value_or(0), kMostError);
    turned[0] += 1e-6;
    EXPECT_GT(error_at_samples(turned.data(), n), kMostError);
    EXPECT_GT(error_against_fftw(turned.data(), n).value_or(1), kMostError);
    turned[0] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(error_at_samples(turned.data(), n)));
    EXPECT_TRUE(std::isnan(error_against_fftw(turned.data(), n).value_or(std::nan(""))));
  }
}

TEST(Fft3d, ThereAndBackIsTheStart) {
  double seconds = 0;
  std::vector<Complex> cube = sequential(8, 3, seconds);
  EXPECT_LT(error_of_start(cube.data(), 8), kMostError);
  cube[511] += 1e-9;
  EXPECT_GT(error_of_start(cube.data(), 8), kMostError);
  cube[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(error_of_start(cube.data(), 8)));
}

}  // namespace fft3d
