// The checks that need no other library.
// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include <algorithm>
#include <cmath>

#include "cube.hpp"

namespace fft3d {

namespace {

struct Point {
  std::size_t x, y, z;
};

/// The definition: the sum over all elements of the start, times their roots of unity.
Complex direct(const Point& at, std::size_t n, const std::vector<Complex>& roots) {
  Complex sum = 0;
  for (std::size_t x = 0; x < n; ++x) {
    Complex plane = 0;
    for (std::size_t y = 0; y < n; ++y) {
      Complex row = 0;
      for (std::size_t z = 0; z < n; ++z) row += start_value((x * n + y) * n + z) * roots[z * at.z % n];
      plane += row * roots[y * at.y % n];
    }
    sum += plane * roots[x * at.x % n];
  }
  return sum;
}

}  // namespace

double error_of_start(const Complex* cube, std::size_t n) {
  double largest = 0;
  double squares = 0;
  const std::size_t count = n * n * n;
  for (std::size_t i = 0; i < count; ++i) {
    const Complex expected = start_value(i);
    largest = std::max(largest, std::abs(cube[i] - expected));
    squares += std::norm(expected);
    // std::max drops a NaN.
    if (std::isnan(std::abs(cube[i]))) return cube[i].real() + cube[i].imag();
  }
  return largest / std::sqrt(squares / static_cast<double>(count));
}

double error_at_samples(const Complex* turned, std::size_t n) {
  std::vector<Complex> roots(n);
  for (std::size_t k = 0; k < n; ++k) roots[k] = root_of_unity(k, n);
  double squares = 0;
  for (std::size_t i = 0; i < n * n * n; ++i) squares += std::norm(start_value(i));
  double largest = 0;
  const Point points[] = {{0, 0, 0},     {1 % n, 0, 0},         {0, 1 % n, 0},
                          {0, 0, 1 % n}, {n / 2, n / 3, n - 1}, {n - 1, n / 2, n / 5}};
  for (const Point& at : points) {
    const double error = std::abs(turned[(at.y * n + at.z) * n + at.x] - direct(at, n, roots));
    if (std::isnan(error)) return error;
    largest = std::max(largest, error);
  }
  // Parseval: the mean square of the transform is the sum of the squares of the start.
  return largest / std::sqrt(squares);
}

}  // namespace fft3d
