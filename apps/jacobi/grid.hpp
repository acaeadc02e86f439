// A square grid of doubles, by rows, and the five-point Jacobi step. Used by the sequential and the shared run, so that
// both compute the same bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace jacobi {

/// Row `row` of the start: pseudo-random values, which the edge of the grid keeps.
void fill_row(double* values, std::size_t n, std::size_t row);

/// Rows [begin, end) of `next`, which are inside the grid: each point but the first and last of a row becomes the mean
/// of its four neighbours in `now`.
void update_rows(const double* now, double* next, std::size_t n, std::size_t begin, std::size_t end);

/// The sequential run in private memory. `seconds` gets the time of the iterations.
std::vector<double> sequential(std::size_t n, std::size_t iterations, double& seconds);

}  // namespace jacobi
