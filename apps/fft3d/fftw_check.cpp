// Against FFTW 3, in double precision.
// SPDX-License-Identifier: Apache-2.0
#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "check.hpp"
#include "cube.hpp"

namespace fft3d {

std::optional<double> error_against_fftw(const Complex* turned, std::size_t n) {
  std::vector<Complex> cube(n * n * n);
  for (std::size_t i = 0; i < cube.size(); ++i) cube[i] = start_value(i);
  // FFTW documents that its complex number and the standard library's have the same layout.
  auto* const data = reinterpret_cast<fftw_complex*>(cube.data());
  const int size = static_cast<int>(n);
  const fftw_plan plan = fftw_plan_dft_3d(size, size, size, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
  if (plan == nullptr) throw std::bad_alloc();
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  double largest = 0;
  double squares = 0;
  for (std::size_t x = 0; x < n; ++x) {
    for (std::size_t y = 0; y < n; ++y) {
      for (std::size_t z = 0; z < n; ++z) {
        const Complex& expected = cube[(x * n + y) * n + z];
        const double error = std::abs(turned[(y * n + z) * n + x] - expected);
        if (std::isnan(error)) return error;
        largest = std::max(largest, error);
        squares += std::norm(expected);
      }
    }
  }
  return largest / std::sqrt(squares / static_cast<double>(cube.size()));
}

}  // namespace fft3d
