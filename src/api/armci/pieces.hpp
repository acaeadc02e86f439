// A vector call's descriptors as the core's pieces: on the stack where they are few.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <span>

#include "api/armci/errors.hpp"
#include "grapnel/handle.hpp"

namespace grapnel::armci {

enum class Direction { to_target, from_target };

class Pieces {
 public:
  /// `Vector`: armci_giov_t, or the type with the other order of members.
  /// Errors: a negative length or size, a missing array; `view` is empty then.
  template <typename Vector>
  Status read(const Vector* vectors, int length, Direction direction) {
    GRAPNEL_TRY(count(vectors, length));
    if (total_ > kFew) many_ = std::make_unique<Piece[]>(total_);
    Piece* next = many_ ? many_.get() : few();
    for (const Vector& vector : std::span(vectors, static_cast<std::size_t>(length))) {
      const bool out = direction == Direction::to_target;
      void* const* const local = out ? vector.src_ptr_array : vector.dst_ptr_array;
      void* const* const remote = out ? vector.dst_ptr_array : vector.src_ptr_array;
      const auto bytes = static_cast<std::size_t>(vector.bytes);
      for (int i = 0; i < vector.ptr_array_len; ++i) *next++ = {local[i], remote[i], bytes};
    }
    return {};
  }
  std::span<const Piece> view() const { return {many_ ? many_.get() : few(), total_}; }

 private:
  template <typename Vector>
  Status count(const Vector* vectors, int length) {
    if (length < 0) return negative("length", length);
    if (length > 0 && vectors == nullptr) return null_pointer("vectors");
    std::size_t total = 0;
    for (const Vector& vector : std::span(vectors, static_cast<std::size_t>(length))) {
      if (vector.bytes < 0) return negative("a vector's bytes", vector.bytes);
      if (vector.ptr_array_len < 0) return negative("a vector's ptr_array_len", vector.ptr_array_len);
      const bool missing = vector.src_ptr_array == nullptr || vector.dst_ptr_array == nullptr;
      if (vector.ptr_array_len > 0 && missing) return null_pointer("a vector's pointer array");
      total += static_cast<std::size_t>(vector.ptr_array_len);
    }
    total_ = total;
    return {};
  }

  // Bytes, so that only the pieces in use are written (an array of bytes creates aggregates, C++20).
  static constexpr std::size_t kFew = 32;
  Piece* few() { return reinterpret_cast<Piece*>(few_); }
  const Piece* few() const { return reinterpret_cast<const Piece*>(few_); }

  alignas(Piece) std::byte few_[kFew * sizeof(Piece)];
  std::unique_ptr<Piece[]> many_;
  std::size_t total_ = 0;
};

}  // namespace grapnel::armci
