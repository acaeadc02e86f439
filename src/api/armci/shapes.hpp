// The int strides and counts of a call as the core's shapes, on the stack.
//
// A shape has room for 16 levels; only those in use are written, since clearing the rest would cost more than a small
// transfer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>

#include "api/armci/errors.hpp"
#include "grapnel/shape.hpp"

namespace grapnel::armci {

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
};

/// Both sides of a call. Storage in which two Strided live whose unused levels are left as they were.
class Shapes {
 public:
  /// `arguments` were checked. One loop: it is short, and most of what a small patch costs on top of the core's call.
  explicit Shapes(const StridedArguments& arguments) {
    Strided& source = of(source_);  // an array of bytes creates an aggregate (C++20)
    Strided& destination = of(destination_);
    source.levels = destination.levels = arguments.levels;
    source.count[0] = destination.count[0] = arguments.counts[0];
    for (int level = 0; level < arguments.levels; ++level) {
      source.count[level + 1] = destination.count[level + 1] = arguments.counts[level + 1];
      source.stride[level] = arguments.source_stride[level];
      destination.stride[level] = arguments.destination_stride[level];
    }
  }
  const Strided& source() const { return of(source_); }
  const Strided& destination() const { return of(destination_); }

 private:
  struct alignas(Strided) Storage {
    std::byte bytes[sizeof(Strided)];
  };
  static Strided& of(Storage& storage) { return *reinterpret_cast<Strided*>(storage.bytes); }
  static const Strided& of(const Storage& storage) { return *reinterpret_cast<const Strided*>(storage.bytes); }

  Storage source_, destination_;
};

}  // namespace grapnel::armci
