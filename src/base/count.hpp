// A number that only grows, kept by one rank for its statistics: a load and a store on the hot path, no lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace grapnel::base {

/// Plain loads and stores of atomics: two threads that count at once may lose one, none may tear.
class Count {
 public:
  void add(std::uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace grapnel::base
