// One row at a time; the compiler vectorizes the loop over its places.
// SPDX-License-Identifier: Apache-2.0
#include "grid.hpp"

#include "common/meter.hpp"
#include "common/random.hpp"

namespace sor {

namespace {

/// Places [begin, end) of a row. `left` is the other colour's row from the left neighbour of place 0 on.
void update_row(double* __restrict own, const double* above, const double* left, const double* below, std::size_t begin,
                std::size_t end, double omega) {
  for (std::size_t k = begin; k < end; ++k) {
    const double mean = 0.25 * (above[k] + below[k] + left[k] + left[k + 1]);
    own[k] += omega * (mean - own[k]);
  }
}

}  // namespace

void fill_row(double* values, std::size_t n, std::size_t row, Colour colour) {
  for (std::size_t k = 0, column = first_column(row, colour); column < n; ++k, column += 2) {
    values[k] = app::random_unit(1, row * n + column);
  }
}

void update_rows(double* own, const double* other, std::size_t n, std::size_t begin, std::size_t end, Colour colour,
                 double omega) {
  const std::size_t places = row_places(n);
  for (std::size_t row = begin; row < end; ++row) {
    const std::size_t first = first_column(row, colour);
    const double* here = other + row * places;
    // Columns 1 to n − 2. In a row whose place 0 is column 0, the other colour's place k is to the right of place k.
    update_row(own + row * places, here - places, first == 0 ? here - 1 : here, here + places, 1 - first,
               (n - first) / 2, omega);
  }
}

std::array<std::vector<double>, 2> sequential(std::size_t n, std::size_t iterations, double omega, double& seconds) {
  const std::size_t places = row_places(n);
  std::array<std::vector<double>, 2> grid{std::vector<double>(n * places), std::vector<double>(n * places)};
  for (const Colour colour : {kRed, kBlack}) {
    for (std::size_t row = 0; row < n; ++row) fill_row(grid[colour].data() + row * places, n, row, colour);
  }
  seconds = app::seconds_of([&] {
    for (std::size_t done = 0; done < iterations; ++done) {
      update_rows(grid[kRed].data(), grid[kBlack].data(), n, 1, n - 1, kRed, omega);
      update_rows(grid[kBlack].data(), grid[kRed].data(), n, 1, n - 1, kBlack, omega);
    }
  });
  return grid;
}

}  // namespace sor
