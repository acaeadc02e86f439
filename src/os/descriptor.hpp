// An owned file descriptor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace grapnel::os {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { reset(); }

  int number() const { return number_; }
  bool valid() const { return number_ >= 0; }
  void reset();

 private:
  int number_ = -1;
};

}  // namespace grapnel::os
