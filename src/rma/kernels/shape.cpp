// SPDX-License-Identifier: Apache-2.0
#include "grapnel/shape.hpp"

#include <fmt/format.h>

namespace grapnel {
namespace {

Status bad(std::string message) { return {Code::invalid_argument, std::move(message)}; }

}  // namespace

Status validate(const Strided& shape) {
  if (shape.levels < 0 || shape.levels > Strided::kMaxLevels) {
    return bad(fmt::format("shape: {} levels; 0 to {} are possible", shape.levels, Strided::kMaxLevels));
  }
  bool empty = false;
  for (int level = 0; level <= shape.levels; ++level) {
    if (shape.count[level] < 0) return bad(fmt::format("shape: count[{}] is {}", level, shape.count[level]));
    empty = empty || shape.count[level] == 0;
  }
  if (empty) return {};  // touches nothing, whatever the rest is
  std::int64_t total = shape.count[0], low = 0, high = shape.count[0];
  for (int level = 0; level < shape.levels; ++level) {
    const std::int64_t count = shape.count[level + 1], stride = shape.stride[level];
    std::int64_t reach = 0;
    std::int64_t& end = stride < 0 ? low : high;
    if (__builtin_mul_overflow(total, count, &total) || __builtin_mul_overflow(stride, count - 1, &reach) ||
        __builtin_add_overflow(end, reach, &end)) {
      return bad(fmt::format("shape: count[{}] {} with stride {} does not fit 64 bits", level + 1, count, stride));
    }
  }
  return {};
}

Extent extent(const Strided& shape) {
  if (shape.total_bytes() == 0) return {};
  Extent touched{0, shape.count[0]};
  for (int level = 0; level < shape.levels; ++level) {
    const std::int64_t count = shape.count[level + 1];
    (shape.stride[level] < 0 ? touched.low : touched.high) += shape.stride[level] * (count - 1);
  }
  return touched;
}

Strided normalised(const Strided& shape) {
  if (shape.total_bytes() == 0) return Strided::contiguous(0);
  Strided result = Strided::contiguous(shape.count[0]);
  std::int64_t below = 1;  // the stride of the level that result.count[result.levels] repeats
  for (int level = 0; level < shape.levels; ++level) {
    const std::int64_t count = shape.count[level + 1], stride = shape.stride[level];
    if (count == 1) continue;
    std::int64_t end_below = 0;  // fits where the extent does, but for one repetition more
    const bool fits = !__builtin_mul_overflow(below, result.count[result.levels], &end_below);
    if (fits && stride == end_below) {
      result.count[result.levels] *= count;
      continue;
    }
    result.stride[result.levels] = stride;
    result.count[++result.levels] = count;
    below = stride;
  }
  return result;
}

}  // namespace grapnel
