// Is the transform right? An error is the largest difference to what is expected, relative to the root mean square of
// what is expected.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "fourier.hpp"

namespace fft3d {

constexpr double kMostError = 1e-12;

/// Of `cube` after transforms there and back.
double error_of_start(const Complex* cube, std::size_t n);

/// Of `turned` after the forward transform of the start: at some points, each summed directly.
double error_at_samples(const Complex* turned, std::size_t n);

/// Of all of `turned`, against FFTW; nothing in a build without it.
std::optional<double> error_against_fftw(const Complex* turned, std::size_t n);

}  // namespace fft3d
