// Transfers between a strided shape and packed bytes, and between two strided shapes.
//
// The packed order is the one of grapnel/shape.hpp. [first, first+bytes) is a range of it: a transfer may be cut at any
// byte, also inside a row. All shapes are valid (grapnel::validate) and the ranges lie inside them: who takes shapes
// from elsewhere checks first.
//
// Threads: any. Rows of 1, 2, 4 and 8 bytes are single stores, as in copy.hpp, as long as they are not cut.
// Cost: no allocation; rows of one size are handed to one loop, so that a row costs no call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "grapnel/shape.hpp"

namespace grapnel::rma {

/// Gathers the range into `out` (`bytes` long).
void pack(void* out, const void* base, const Strided& shape, std::size_t first, std::size_t bytes);

/// Scatters `in` (`bytes` long) over the range.
void unpack(void* base, const Strided& shape, std::size_t first, const void* in, std::size_t bytes);

/// All of one shape onto the other; they have equal levels and counts. The sides do not overlap.
void copy_strided(void* destination, const Strided& destination_shape, const void* source, const Strided& source_shape);

/// Of valid shapes. One by one: a caller's shapes were often written just before, and loads wider than their stores
/// would wait for them.
inline bool have_equal_counts(const Strided& one, const Strided& other) {
  if (one.levels != other.levels) return false;
  for (int level = 0; level <= one.levels; ++level) {
    if (one.count[level] != other.count[level]) return false;
  }
  return true;
}

/// `kSides` shapes of equal counts, walked together in packed order with the fewest loops: repetitions of 1 are
/// dropped, and a level that continues the one below without a gap on all sides is merged into it.
template <int kSides>
class Walk {
 public:
  using Offsets = std::array<std::int64_t, kSides>;

  explicit Walk(const std::array<const Strided*, kSides>& shapes);

  /// Calls on_rows(offsets, strides, row_bytes, rows) for `rows` equal rows, the first at `offsets` and each next one
  /// `strides` further, until the range [first, first+bytes) is done. A row that the range cuts is a call of its own.
  template <typename OnRows>
  void run(std::int64_t first, std::int64_t bytes, OnRows&& on_rows);

 private:
  /// Sets index_ and offsets_ to the row that holds packed byte `first`; returns what of that row lies before it.
  std::int64_t seek(std::int64_t first);
  /// Moves on by `rows` rows, not beyond the end of the lowest loop.
  void advance(std::int64_t rows);

  int levels_ = 0;
  std::int64_t row_bytes_;
  // Only [0, levels_) of each is set: a walk over 64 rows should not begin by clearing 500 bytes.
  std::int64_t count_[Strided::kMaxLevels];
  std::int64_t index_[Strided::kMaxLevels];
  Offsets stride_[Strided::kMaxLevels];
  Offsets offsets_{};
};

/// Calls fn(offset, length) for each contiguous run of the range, in packed order; neighbouring rows without a gap come
/// as one run.
template <typename Function>
void for_each_run(const Strided& shape, std::size_t first, std::size_t bytes, Function&& function) {
  Walk<1> walk({&shape});
  walk.run(static_cast<std::int64_t>(first), static_cast<std::int64_t>(bytes),
           [&](const auto& offsets, const auto& strides, std::int64_t row_bytes, std::int64_t rows) {
             std::int64_t offset = offsets[0];
             for (; rows > 0; --rows, offset += strides[0]) function(offset, static_cast<std::size_t>(row_bytes));
           });
}

template <int kSides>
Walk<kSides>::Walk(const std::array<const Strided*, kSides>& shapes) : row_bytes_(shapes[0]->count[0]) {
  Offsets below;  // the strides of the loop that a further level could continue: at first the bytes of a row
  below.fill(1);
  for (int level = 0; level < shapes[0]->levels; ++level) {
    const std::int64_t count = shapes[0]->count[level + 1];
    if (count == 1) continue;
    std::int64_t& count_below = levels_ == 0 ? row_bytes_ : count_[levels_ - 1];
    bool continues = true;
    for (int side = 0; side < kSides; ++side) {
      continues = continues && shapes[side]->stride[level] == below[side] * count_below;
    }
    if (continues) {
      count_below *= count;
      continue;
    }
    for (int side = 0; side < kSides; ++side) below[side] = shapes[side]->stride[level];
    stride_[levels_] = below;
    index_[levels_] = 0;
    count_[levels_++] = count;
  }
}

template <int kSides>
std::int64_t Walk<kSides>::seek(std::int64_t first) {
  if (first < row_bytes_) return first;
  std::int64_t row = first / row_bytes_;
  const std::int64_t before = first % row_bytes_;
  for (int level = 0; level < levels_; ++level) {
    index_[level] = row % count_[level];
    row /= count_[level];
    for (int side = 0; side < kSides; ++side) offsets_[side] += index_[level] * stride_[level][side];
  }
  return before;
}

template <int kSides>
void Walk<kSides>::advance(std::int64_t rows) {
  for (int level = 0; level < levels_; ++level) {
    for (int side = 0; side < kSides; ++side) offsets_[side] += rows * stride_[level][side];
    if ((index_[level] += rows) < count_[level]) return;
    for (int side = 0; side < kSides; ++side) offsets_[side] -= count_[level] * stride_[level][side];
    index_[level] = 0;
    rows = 1;  // of the next loop
  }
}

template <int kSides>
template <typename OnRows>
void Walk<kSides>::run(std::int64_t first, std::int64_t bytes, OnRows&& on_rows) {
  if (bytes <= 0) return;  // also: a row or a count may be 0 then
  static constexpr Offsets kNoStride{};
  const auto part_of_row = [&](std::int64_t from, std::int64_t length) {
    Offsets offsets = offsets_;
    for (std::int64_t& offset : offsets) offset += from;
    on_rows(offsets, kNoStride, length, std::int64_t{1});
    bytes -= length;
  };
  if (const std::int64_t before = seek(first); before > 0) {
    part_of_row(before, std::min(bytes, row_bytes_ - before));
    advance(1);
  }
  while (bytes >= row_bytes_) {
    const std::int64_t left = levels_ == 0 ? 1 : count_[0] - index_[0];
    const std::int64_t rows = left * row_bytes_ <= bytes ? left : bytes / row_bytes_;
    on_rows(offsets_, levels_ == 0 ? kNoStride : stride_[0], row_bytes_, rows);
    bytes -= rows * row_bytes_;
    if (bytes > 0) advance(rows);
  }
  if (bytes > 0) part_of_row(0, bytes);
}

}  // namespace grapnel::rma
