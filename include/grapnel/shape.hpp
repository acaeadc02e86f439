// The strided shape of one side of a transfer: a row of bytes, repeated at a stride, repeated at a stride, …
//
//   count  = {512, 64, 8}      512 bytes in a row, 64 rows, 8 planes
//   stride = {4096, 1048576}   from a row to the next, from a plane to the next, in bytes
//
// The packed order of a shape is the order of these loops: count[0] innermost. Two shapes with equal counts and
// different strides describe the two sides of one transfer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "grapnel/export.hpp"
#include "grapnel/status.hpp"

namespace grapnel {

/// Aggregate and trivially copyable: it travels in messages as it lies in memory. A shape from a message or from the
/// caller is validate()d before anything else is asked of it.
///
/// Strides may be negative or zero, and levels may overlap; offsets are then relative to the base address, which is
/// where the first row starts. Where rows of a destination overlap, a copy leaves any one of the sources in the
/// overlap, and an accumulate adds each of them.
struct Strided {
  static constexpr int kMaxLevels = 16;

  int levels = 0;                           ///< of repetition: 0 is one contiguous row
  std::int64_t count[kMaxLevels + 1] = {};  ///< count[0] in bytes, count[k] repetitions; levels+1 are used
  std::int64_t stride[kMaxLevels] = {};     ///< stride[k] bytes between the repetitions of count[k+1]; levels are used

  /// A row of `bytes`.
  static constexpr Strided contiguous(std::int64_t bytes) {
    Strided shape;
    shape.count[0] = bytes;
    return shape;
  }

  /// The data, without the gaps. Needs a valid shape.
  constexpr std::int64_t total_bytes() const {
    // Zeros first: what the other counts of an empty shape amount to may not fit.
    for (int level = 0; level <= levels; ++level) {
      if (count[level] == 0) return 0;
    }
    std::int64_t total = count[0];
    for (int level = 1; level <= levels; ++level) total *= count[level];
    return total;
  }
};
static_assert(std::is_trivially_copyable_v<Strided>);

/// The bytes that a shape touches, relative to its base address: within [low, high). Both 0 where it holds no data.
struct Extent {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// ok, or invalid_argument with the entry and its value: levels out of range, a negative count, or counts and strides
/// whose total or extent does not fit 64 bits.
GRAPNEL_API Status validate(const Strided& shape);

/// What the shape touches, for checks against a segment's bounds. Needs a valid shape.
GRAPNEL_API Extent extent(const Strided& shape);

/// The same bytes in the same order with the fewest levels: repetitions of 1 are dropped, and a level that continues
/// the one below without a gap is merged into it. A shape without data becomes a row of 0 bytes. Needs a valid shape.
GRAPNEL_API Strided normalised(const Strided& shape);

}  // namespace grapnel
