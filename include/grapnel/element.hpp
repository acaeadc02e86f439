// The element types that accumulate understands.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace grapnel {

/// What an accumulate adds. A complex number is two floating-point numbers, real part first; xor64 is the exclusive or
/// of 64-bit words, for which the scale does not count. One byte, because it travels in messages.
enum class ElementType : std::uint8_t { int32, int64, float32, float64, complex64, complex128, xor64 };

inline constexpr int kElementTypes = 7;

/// Whether a number that came from elsewhere (a message, a foreign interface) names a type.
constexpr bool is_element_type(int value) { return value >= 0 && value < kElementTypes; }

constexpr std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::int32:
    case ElementType::float32: return 4;
    case ElementType::int64:
    case ElementType::float64:
    case ElementType::complex64:
    case ElementType::xor64: return 8;
    case ElementType::complex128: return 16;
  }
  return 1;
}

/// Whether `bytes` is a whole number of elements. Their sizes are powers of two: a division by one that is not known
/// when compiling takes as long as the addition of a hundred numbers.
constexpr bool holds_whole_elements(ElementType type, std::size_t bytes) {
  return (bytes & (element_bytes(type) - 1)) == 0;
}

}  // namespace grapnel
