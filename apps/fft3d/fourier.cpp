// Radix 2, decimation in time: J. W. Cooley, J. W. Tukey, 1965.
// SPDX-License-Identifier: Apache-2.0
#include "fourier.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace fft3d {

Complex root_of_unity(std::size_t k, std::size_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

Transform::Transform(std::size_t n) : n_(n), roots_(n / 2), reversed_(n, 0) {
  for (std::size_t k = 0; k < n / 2; ++k) roots_[k] = root_of_unity(k, n);
  for (std::size_t i = 1; i < n; ++i) reversed_[i] = reversed_[i / 2] / 2 + (i % 2) * (n / 2);
}

void Transform::permute(Complex* row) const {
  for (std::size_t i = 0; i < n_; ++i) {
    if (i < reversed_[i]) std::swap(row[i], row[reversed_[i]]);
  }
}

void Transform::run(Complex* row, Direction direction) const {
  permute(row);
  const double sign = direction == Direction::forward ? 1 : -1;
  for (std::size_t half = 1; half < n_; half *= 2) {
    const std::size_t stride = n_ / (2 * half);
    for (std::size_t begin = 0; begin < n_; begin += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        const double real = roots_[k * stride].real();
        const double imaginary = sign * roots_[k * stride].imag();
        Complex& low = row[begin + k];
        Complex& high = row[begin + k + half];
        // By hand: the operator of std::complex looks for infinities.
        const Complex turned{high.real() * real - high.imag() * imaginary,
                             high.real() * imaginary + high.imag() * real};
        high = low - turned;
        low += turned;
      }
    }
  }
}

}  // namespace fft3d
