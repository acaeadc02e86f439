// A cube of n · n · n complex numbers, and what a process does to its planes of it. Used by the sequential and the
// shared run.
//
// Two layouts: `Cube` has element (x, y, z) at ((x · n) + y) · n + z, in planes of one x; `turned` has it at
// ((y · n) + z) · n + x, in planes of one y, so that a row is along x.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "fourier.hpp"

namespace fft3d {

/// Element i of the start, with parts in [-1, 1).
Complex start_value(std::size_t i);

/// Planes [begin, end) of x: along z, then along y.
void transform_planes(const Transform& transform, Complex* cube, std::size_t n, std::size_t begin, std::size_t end,
                      Direction direction);

/// Planes [begin, end) of y of `turned`: along x.
void transform_turned(const Transform& transform, Complex* turned, std::size_t n, std::size_t begin, std::size_t end,
                      Direction direction);

/// Planes [begin, end) of y of `turned`, from all planes of `cube`.
void turn(const Complex* cube, Complex* turned, std::size_t n, std::size_t begin, std::size_t end);

/// Planes [begin, end) of x of `cube`, from all planes of `turned`, divided by n · n · n.
void turn_back(const Complex* turned, Complex* cube, std::size_t n, std::size_t begin, std::size_t end);

/// The sequential run in private memory: `rounds` times forward and back. `seconds` gets its time.
std::vector<Complex> sequential(std::size_t n, std::size_t rounds, double& seconds);

}  // namespace fft3d
