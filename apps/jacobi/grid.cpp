// One row at a time; the compiler vectorizes the loop over its columns.
// SPDX-License-Identifier: Apache-2.0
#include "grid.hpp"

#include <utility>

#include "common/meter.hpp"
#include "common/random.hpp"

namespace jacobi {

namespace {

void update_row(const double* above, const double* here, const double* below, double* next, std::size_t n) {
  for (std::size_t column = 1; column + 1 < n; ++column) {
    next[column] = 0.25 * (above[column] + below[column] + here[column - 1] + here[column + 1]);
  }
}

}  // namespace

void fill_row(double* values, std::size_t n, std::size_t row) {
  for (std::size_t column = 0; column < n; ++column) values[column] = app::random_unit(1, row * n + column);
}

void update_rows(const double* now, double* next, std::size_t n, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) {
    update_row(now + (row - 1) * n, now + row * n, now + (row + 1) * n, next + row * n, n);
  }
}

std::vector<double> sequential(std::size_t n, std::size_t iterations, double& seconds) {
  std::vector<double> now(n * n);
  std::vector<double> next(n * n);
  for (std::size_t row = 0; row < n; ++row) {
    fill_row(now.data() + row * n, n, row);
    fill_row(next.data() + row * n, n, row);
  }
  seconds = app::seconds_of([&] {
    for (std::size_t done = 0; done < iterations; ++done) {
      update_rows(now.data(), next.data(), n, 1, n - 1);
      std::swap(now, next);
    }
  });
  return now;
}

}  // namespace jacobi
