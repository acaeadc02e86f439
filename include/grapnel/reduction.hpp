// Reductions: an operation on numbers of a type, as collectives and updates apply it element by element.
//
//   const grapnel::Reduction sum = grapnel::reduction(grapnel::Operation::sum, grapnel::NumberType::float64).value();
//   grapnel::Status done = g.allreduce(sum, mine, total, 100);
//
// A program may bring its own: elements of any kind and size, and a function that joins them (the least of pairs of a
// value and its place, say). The order in which the members' elements are joined is fixed: ascending by rank in a node,
// and the nodes' results ascending by the node's lowest member. So it depends on the group and the node map alone, and
// the same call gives the same bits each time, in every member.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "grapnel/export.hpp"
#include "grapnel/status.hpp"

namespace grapnel {

/// The absolute ones are the least and the largest of the absolute values. Logical ones give 1 or 0; any number but 0
/// is true. Complex numbers have sum and product; floating-point numbers have no bits. Pairs have the two with a place:
/// of equal values the lower place counts. `replace` gives the second operand and `none` the first, for all types.
enum class Operation : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  least_absolute,
  largest_absolute,
  logical_and,
  logical_or,
  bit_and,
  bit_or,
  bit_xor,
  logical_xor,
  minimum_with_place,
  maximum_with_place,
  replace,
  none
};
inline constexpr int kOperations = 16;

/// Integers wrap around. A complex number is two floating-point numbers, real part first. A pair is a C structure of a
/// value and its place: an int32, and for the last two a number of the value's own type.
enum class NumberType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  long_double,
  complex64,
  complex128,
  complex_long_double,
  int16_with_place,
  int32_with_place,
  int64_with_place,
  float32_with_place,
  float64_with_place,
  long_double_with_place,
  float32_pair,
  float64_pair
};
inline constexpr int kNumberTypes = 22;
/// Of an element, of any type.
inline constexpr std::size_t kMostElementBytes = 32;

/// Whether a number that came from elsewhere (a message, a foreign interface) names one.
constexpr bool is_operation(int value) { return value >= 0 && value < kOperations; }
constexpr bool is_number_type(int value) { return value >= 0 && value < kNumberTypes; }

/// What a collective does with elements. All members give the same one.
struct Reduction {
  const char* name = nullptr;  ///< in errors; members are compared by it. Of static storage
  std::size_t element_bytes = 0;
  /// into[i] = into[i] ∘ from[i], for `count` elements; the two do not overlap, and need no alignment.
  void (*join)(void* into, const void* from, std::size_t count) = nullptr;
  /// Applied to each member's elements before they are joined; null: nothing is.
  void (*prepare)(void* elements, std::size_t count) = nullptr;
};

/// Errors: invalid_argument (the operation does not exist for the type).
GRAPNEL_API Result<Reduction> reduction(Operation operation, NumberType type);

}  // namespace grapnel
