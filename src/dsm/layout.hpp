// Places things one after the other, each at a cache line. From address 0 on it counts what they take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace grapnel::dsm {

class Layout {
 public:
  explicit Layout(std::uintptr_t begin) : next_(begin) {}
  template <typename T>
  T* place(std::size_t count) {
    T* const at = reinterpret_cast<T*>(next_);
    next_ += base::round_up(count * sizeof(T), base::kCacheLineBytes);
    return at;
  }
  std::uintptr_t next() const { return next_; }

 private:
  std::uintptr_t next_;
};

}  // namespace grapnel::dsm
