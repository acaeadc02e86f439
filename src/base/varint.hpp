// Integers in as few bytes as they need: 7 bits of value a byte.
//
// The lowest byte gives how long the number is: as many zeros as bytes follow, then a one, from the lowest bit on. What
// is above it is the value. So neither side looks at one byte after the other, nor has the processor to guess how many
// there are.
//
// The reader is strict: what is cut off, or longer than needed, is refused. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace grapnel::base {

/// Values are less than 2^56.
inline constexpr unsigned kVarintValueBits = 56;
inline constexpr std::size_t kMostVarintBytes = 8;

/// Writes a value and returns where it ends. There is room for kMostVarintBytes, all of which may be written.
inline std::byte* write_varint(std::byte* out, std::uint64_t value) {
  static_assert(std::endian::native == std::endian::little);
  if (value < 0x80) {  // as in the reader
    *out = static_cast<std::byte>(value << 1 | 1);
    return out + 1;
  }
  const auto bytes = static_cast<unsigned>(std::bit_width(value) + 6) / 7;
  const std::uint64_t code = (value << 1 | 1) << (bytes - 1);
  std::memcpy(out, &code, sizeof code);
  return out + bytes;
}

/// Reads a value from [at, end) and returns how many bytes it takes, or 0 where there is none.
inline std::size_t read_varint(const std::byte* at, const std::byte* end, std::uint64_t& value) {
  // A case of its own: where all are short, the processor is at the next one before it has looked at this one.
  if (at != end && (*at & std::byte{1}) != std::byte{}) {
    value = static_cast<std::uint64_t>(*at) >> 1;
    return 1;
  }
  const auto left = static_cast<std::size_t>(end - at);
  std::uint64_t code = 0;
  if (left >= sizeof code) [[likely]] {
    std::memcpy(&code, at, sizeof code);
  } else if (left > 0) {
    std::memcpy(&code, at, left);
  }
  const auto bytes = static_cast<unsigned>(std::countr_zero(code | 1U << (kMostVarintBytes - 1))) + 1;
  value = code << (64 - 8 * bytes) >> (64 - 7 * bytes);
  const bool needed = bytes == 1 || value >> (7 * (bytes - 1)) != 0;
  return bytes <= left && (code & 0xff) != 0 && needed ? bytes : 0;
}

/// Signed numbers near 0 as small unsigned ones: 0, −1, 1, −2, … are 0, 1, 2, 3, …
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

}  // namespace grapnel::base
