// Fixed-layout structures in and out of byte strings, with the bounds checked.
//
// Both ends of a job run the same binary on the same kind of machine, so a structure travels as it lies in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <optional>
#include <type_traits>

#include "grapnel/types.hpp"

namespace grapnel::base {

template <typename T>
ByteView bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

/// Appends structures and byte runs to a string.
class Encoder {
 public:
  template <typename T>
  Encoder& put(const T& value) {
    return put_bytes(bytes_of(value));
  }
  Encoder& put_bytes(ByteView bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// A length (64 bit) and then the bytes.
  Encoder& put_string(ByteView bytes) { return put(std::uint64_t{bytes.size()}).put_bytes(bytes); }
  ByteView view() const { return out_; }
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

/// Reads what an Encoder wrote. A read past the end yields nothing and leaves the decoder failed.
class Decoder {
 public:
  explicit Decoder(ByteView in) : in_(in) {}

  template <typename T>
  std::optional<T> get() {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = get_bytes(sizeof(T));
    if (!bytes) return std::nullopt;
    T value;
    std::memcpy(&value, bytes->data(), sizeof(T));
    return value;
  }
  std::optional<ByteView> get_bytes(std::size_t count) {
    if (count > in_.size()) return std::nullopt;
    const ByteView taken = in_.first(count);
    in_ = in_.subspan(count);
    return taken;
  }
  std::optional<ByteView> get_string() {
    const auto length = get<std::uint64_t>();
    return length ? get_bytes(*length) : std::nullopt;
  }
  ByteView rest() const { return in_; }

 private:
  ByteView in_;
};

}  // namespace grapnel::base
