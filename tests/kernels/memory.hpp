// Memory for the kernel tests: seeded content, any alignment, and guard bytes that no kernel may touch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace grapnel::kernels_test {

/// The seed of this run: GRAPNEL_SEED, or a fixed one. A failing test prints it.
inline std::uint64_t seed() {
  const char* const text = std::getenv("GRAPNEL_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 20261121;
}

/// For SCOPED_TRACE: how to run this again.
inline std::string replay() { return fmt::format("replay: GRAPNEL_SEED={} kernels_test", seed()); }

inline std::vector<std::byte> random_bytes(std::size_t bytes, base::Random& random) {
  std::vector<std::byte> content(bytes);
  for (std::byte& byte : content) byte = static_cast<std::byte>(random.next());
  return content;
}

/// Random bytes that start at `misalignment` after a multiple of 4096.
class Buffer {
 public:
  Buffer(std::size_t bytes, std::size_t misalignment, base::Random& random)
      : memory_(random_bytes(bytes + misalignment + 4096, random)), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ = memory_.data() + (-address % 4096) + misalignment;
  }
  std::byte* data() { return start_; }
  std::size_t size() const { return bytes_; }
  std::vector<std::byte> content() const { return {start_, start_ + bytes_}; }

 private:
  std::vector<std::byte> memory_;
  std::size_t bytes_;
  std::byte* start_;
};

/// Whole pages between pages that no kernel may touch.
class Fenced {
 public:
  explicit Fenced(std::size_t bytes) : bytes_(bytes + 2 * kPageBytes) {
    all_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all_ == MAP_FAILED || mprotect(data(), bytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~Fenced() { munmap(all_, bytes_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(all_) + kPageBytes; }

 private:
  static constexpr std::size_t kPageBytes = 4096;
  std::size_t bytes_;
  void* all_ = nullptr;
};

}  // namespace grapnel::kernels_test
