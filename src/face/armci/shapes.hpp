// The int strides and counts of a call as the core's shapes, on the stack.
//
// A shape has room for 16 levels; only those in use are written, since clearing the rest would cost more than a small
// transfer.
#pragma once

#include <fmt/format.h>

#include <cstddef>

#include "face/armci/errors.hpp"
#include "grapnel/shape.hpp"

namespace grapnel::armci {

/// Storage in which a Strided lives whose unused levels are left as they were.
class Shape {
 public:
  /// `levels` is within 0…Strided::kMaxLevels.
  Shape(const int* stride, const int* counts, int levels) {
    Strided& shape = *reinterpret_cast<Strided*>(storage_);  // an array of bytes creates an aggregate (C++20)
    shape.levels = levels;
    for (int level = 0; level <= levels; ++level) shape.count[level] = counts[level];
    for (int level = 0; level < levels; ++level) shape.stride[level] = stride[level];
  }
  const Strided& operator*() const { return *reinterpret_cast<const Strided*>(storage_); }

 private:
  alignas(Strided) std::byte storage_[sizeof(Strided)];
};

/// The arguments of a strided call, before anything of them is read.
struct StridedArguments {
  const int* source_stride;
  const int* destination_stride;
  const int* counts;
  int levels;

  Status check() const {
    if (levels < 0 || levels > Strided::kMaxLevels) [[unlikely]] {
      return Status(Code::invalid_argument,
                    fmt::format("levels is {}; 0..{} are possible", levels, Strided::kMaxLevels));
    }
    if (counts == nullptr) [[unlikely]]
      return null_pointer("counts");
    if (levels > 0 && (source_stride == nullptr || destination_stride == nullptr)) [[unlikely]] {
      return null_pointer(source_stride == nullptr ? "src_stride" : "dst_stride");
    }
    return {};
  }
  Shape source() const { return Shape(source_stride, counts, levels); }
  Shape destination() const { return Shape(destination_stride, counts, levels); }
};

}  // namespace grapnel::armci
