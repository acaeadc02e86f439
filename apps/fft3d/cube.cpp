// Strided rows are copied to a buffer, transformed there and copied back.
// SPDX-License-Identifier: Apache-2.0
#include "cube.hpp"

#include <algorithm>

#include "common/meter.hpp"
#include "common/random.hpp"

namespace fft3d {

namespace {

/// Rows of `turned` are written a block of z at a time, so that each line of `cube` in cache is used as a whole.
constexpr std::size_t kBlock = 8;

void along_y(const Transform& transform, Complex* plane, std::size_t n, Complex* row, Direction direction) {
  for (std::size_t z = 0; z < n; ++z) {
    for (std::size_t y = 0; y < n; ++y) row[y] = plane[y * n + z];
    transform.run(row, direction);
    for (std::size_t y = 0; y < n; ++y) plane[y * n + z] = row[y];
  }
}

}  // namespace

Complex start_value(std::size_t i) {
  return {2 * app::random_unit(1, 2 * i) - 1, 2 * app::random_unit(1, 2 * i + 1) - 1};
}

void transform_planes(const Transform& transform, Complex* cube, std::size_t n, std::size_t begin, std::size_t end,
                      Direction direction) {
  std::vector<Complex> row(n);
  for (std::size_t x = begin; x < end; ++x) {
    Complex* const plane = cube + x * n * n;
    for (std::size_t y = 0; y < n; ++y) transform.run(plane + y * n, direction);
    along_y(transform, plane, n, row.data(), direction);
  }
}

void transform_turned(const Transform& transform, Complex* turned, std::size_t n, std::size_t begin, std::size_t end,
                      Direction direction) {
  for (std::size_t row = begin * n; row < end * n; ++row) transform.run(turned + row * n, direction);
}

void turn(const Complex* cube, Complex* turned, std::size_t n, std::size_t begin, std::size_t end) {
  for (std::size_t y = begin; y < end; ++y) {
    for (std::size_t block = 0; block < n; block += kBlock) {
      for (std::size_t x = 0; x < n; ++x) {
        for (std::size_t z = block; z < std::min(block + kBlock, n); ++z) {
          turned[(y * n + z) * n + x] = cube[(x * n + y) * n + z];
        }
      }
    }
  }
}

void turn_back(const Complex* turned, Complex* cube, std::size_t n, std::size_t begin, std::size_t end) {
  const double scale = 1.0 / static_cast<double>(n * n * n);
  for (std::size_t y = 0; y < n; ++y) {
    for (std::size_t block = begin; block < end; block += kBlock) {
      for (std::size_t z = 0; z < n; ++z) {
        for (std::size_t x = block; x < std::min(block + kBlock, end); ++x) {
          cube[(x * n + y) * n + z] = scale * turned[(y * n + z) * n + x];
        }
      }
    }
  }
}

std::vector<Complex> sequential(std::size_t n, std::size_t rounds, double& seconds) {
  std::vector<Complex> cube(n * n * n);
  std::vector<Complex> turned(n * n * n);
  for (std::size_t i = 0; i < cube.size(); ++i) cube[i] = start_value(i);
  const Transform transform(n);
  seconds = app::seconds_of([&] {
    for (std::size_t done = 0; done < rounds; ++done) {
      transform_planes(transform, cube.data(), n, 0, n, Direction::forward);
      turn(cube.data(), turned.data(), n, 0, n);
      transform_turned(transform, turned.data(), n, 0, n, Direction::forward);
      transform_turned(transform, turned.data(), n, 0, n, Direction::inverse);
      turn_back(turned.data(), cube.data(), n, 0, n);
      transform_planes(transform, cube.data(), n, 0, n, Direction::inverse);
    }
  });
  return cube;
}

}  // namespace fft3d
