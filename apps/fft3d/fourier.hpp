// The discrete Fourier transform of one row, whose length is a power of two.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace fft3d {

using Complex = std::complex<double>;

enum class Direction { forward, inverse };

/// exp(-2πi · k / n) for the forward transform; the sign of the exponent is the other one for the inverse.
Complex root_of_unity(std::size_t k, std::size_t n);

/// For rows of one length.
class Transform {
 public:
  /// `n`: a power of two.
  explicit Transform(std::size_t n);

  /// In place. The inverse does not divide by n.
  void run(Complex* row, Direction direction) const;

 private:
  void permute(Complex* row) const;

  std::size_t n_;
  std::vector<Complex> roots_;         ///< of unity, for the forward transform: k = 0 … n/2 − 1
  std::vector<std::size_t> reversed_;  ///< the index whose bits are in the opposite order
};

}  // namespace fft3d
