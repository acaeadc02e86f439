// A square grid whose red and black points are in two arrays, and the half step of red-black over-relaxation.
//
// Point (row, column) is red where row + column is even. Place k of a row of an array is the row's k-th point of that
// colour, so the four neighbours of a point are all in the other array. Used by the sequential and the shared run, so
// that both compute the same bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace sor {

enum Colour : std::size_t { kRed, kBlack };

/// Places of a row in an array, used or not.
inline std::size_t row_places(std::size_t n) { return (n + 1) / 2; }

/// The column of place 0: 0 or 1.
inline std::size_t first_column(std::size_t row, Colour colour) { return (row + colour) % 2; }

/// Row `row` of the start: pseudo-random values, which the edge of the grid keeps.
void fill_row(double* values, std::size_t n, std::size_t row, Colour colour);

/// Rows [begin, end), which are inside the grid, of the points of `colour`, in `own`; `other` has the other colour's.
void update_rows(double* own, const double* other, std::size_t n, std::size_t begin, std::size_t end, Colour colour,
                 double omega);

/// The sequential run in private memory: both arrays, by colour. `seconds` gets the time of the iterations.
std::array<std::vector<double>, 2> sequential(std::size_t n, std::size_t iterations, double omega, double& seconds);

}  // namespace sor
