// Every operation on every type, against the plain expression; at odd addresses; at the ends of integers.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "grapnel/reduction.hpp"

namespace grapnel {
namespace {

template <typename T>
T apply(Operation operation, NumberType type, T a, T b) {
  const Reduction made = reduction(operation, type).value();
  EXPECT_EQ(made.element_bytes, sizeof(T)) << made.name;
  constexpr std::size_t kCount = 19;
  std::vector<unsigned char> into(kCount * sizeof(T) + 1), from(kCount * sizeof(T) + 3);
  for (std::size_t i = 0; i < kCount; ++i) {
    std::memcpy(&into[1 + i * sizeof(T)], &a, sizeof(T));
    std::memcpy(&from[3 + i * sizeof(T)], &b, sizeof(T));
  }
  if (made.prepare != nullptr) made.prepare(&into[1], kCount);
  if (made.prepare != nullptr) made.prepare(&from[3], kCount);
  made.join(&into[1], &from[3], kCount);
  T first, last;
  std::memcpy(&first, &into[1], sizeof(T));
  std::memcpy(&last, &into[1 + (kCount - 1) * sizeof(T)], sizeof(T));
  EXPECT_EQ(first, last) << made.name;
  return first;
}

template <typename T>
void check_ordered(NumberType type) {
  const auto of = [type](Operation operation, int a, int b) {
    return apply<T>(operation, type, static_cast<T>(a), static_cast<T>(b));
  };
  EXPECT_EQ(of(Operation::sum, 3, 4), T(7));
  EXPECT_EQ(of(Operation::product, 3, 4), T(12));
  EXPECT_EQ(of(Operation::minimum, 3, 4), T(3));
  EXPECT_EQ(of(Operation::maximum, 3, 4), T(4));
  EXPECT_EQ(of(Operation::logical_and, 3, 0), T(0));
  EXPECT_EQ(of(Operation::logical_and, 3, 2), T(1));
  EXPECT_EQ(of(Operation::logical_or, 0, 0), T(0));
  EXPECT_EQ(of(Operation::logical_or, 0, 5), T(1));
  EXPECT_EQ(of(Operation::logical_xor, 3, 5), T(0));
  EXPECT_EQ(of(Operation::logical_xor, 3, 0), T(1));
  EXPECT_EQ(of(Operation::replace, 3, 5), T(5));
  EXPECT_EQ(of(Operation::none, 3, 5), T(3));
  EXPECT_EQ(reduction(Operation::minimum_with_place, type).status().code(), Code::invalid_argument);
  EXPECT_EQ(of(Operation::least_absolute, 9, 4), T(4));
  if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>) {
    EXPECT_EQ(of(Operation::least_absolute, -3, 4), T(3));
    EXPECT_EQ(of(Operation::largest_absolute, -5, 4), T(5));
    EXPECT_EQ(of(Operation::minimum, -5, 4), T(-5));
  }
}

template <typename T>
void check_integer(NumberType type) {
  check_ordered<T>(type);
  using Limits = std::numeric_limits<T>;
  EXPECT_EQ(apply<T>(Operation::bit_and, type, 6, 3), T(2));
  EXPECT_EQ(apply<T>(Operation::bit_or, type, 6, 3), T(7));
  EXPECT_EQ(apply<T>(Operation::bit_xor, type, 6, 3), T(5));
  EXPECT_EQ(apply<T>(Operation::sum, type, Limits::max(), 1), Limits::min());  // wraps around
  if constexpr (std::is_signed_v<T>) {
    EXPECT_EQ(apply<T>(Operation::largest_absolute, type, Limits::min(), 1), T(1));  // it has no absolute value
  }
}

template <typename T>
void check_floating(NumberType type) {
  check_ordered<T>(type);
  EXPECT_EQ(apply<T>(Operation::sum, type, T(0.5), T(0.25)), T(0.75));
  for (const Operation bits : {Operation::bit_and, Operation::bit_or, Operation::bit_xor}) {
    EXPECT_EQ(reduction(bits, type).status().code(), Code::invalid_argument);
  }
}

template <typename T>
void check_complex(NumberType type) {
  using C = std::complex<T>;
  EXPECT_EQ(apply<C>(Operation::sum, type, C(1, 2), C(3, -5)), C(4, -3));
  EXPECT_EQ(apply<C>(Operation::product, type, C(1, 2), C(3, 4)), C(-5, 10));
  EXPECT_EQ(reduction(Operation::maximum, type).status().code(), Code::invalid_argument);
}

template <typename Value, typename Place>
void check_pair(NumberType type) {
  struct Pair {
    Value value;
    Place place;
    bool operator==(const Pair& other) const { return value == other.value && place == other.place; }
  };
  const auto pair = [](int value, int place) { return Pair{static_cast<Value>(value), static_cast<Place>(place)}; };
  const auto of = [type](Operation operation, Pair a, Pair b) { return apply<Pair>(operation, type, a, b); };
  EXPECT_EQ(of(Operation::minimum_with_place, pair(3, 1), pair(4, 0)), pair(3, 1));
  EXPECT_EQ(of(Operation::minimum_with_place, pair(4, 1), pair(3, 2)), pair(3, 2));
  EXPECT_EQ(of(Operation::minimum_with_place, pair(3, 2), pair(3, 1)), pair(3, 1));
  EXPECT_EQ(of(Operation::maximum_with_place, pair(3, 1), pair(4, 5)), pair(4, 5));
  EXPECT_EQ(of(Operation::maximum_with_place, pair(4, 1), pair(4, 5)), pair(4, 1));
  EXPECT_EQ(of(Operation::replace, pair(3, 1), pair(4, 5)), pair(4, 5));
  EXPECT_EQ(of(Operation::none, pair(3, 1), pair(4, 5)), pair(3, 1));
  for (const Operation none : {Operation::sum, Operation::minimum, Operation::logical_and, Operation::bit_or}) {
    EXPECT_EQ(reduction(none, type).status().code(), Code::invalid_argument);
  }
}

TEST(Reductions, EveryOperationOnEveryType) {
  check_integer<std::int8_t>(NumberType::int8);
  check_integer<std::uint8_t>(NumberType::uint8);
  check_integer<std::int16_t>(NumberType::int16);
  check_integer<std::uint16_t>(NumberType::uint16);
  check_integer<std::int32_t>(NumberType::int32);
  check_integer<std::uint32_t>(NumberType::uint32);
  check_integer<std::int64_t>(NumberType::int64);
  check_integer<std::uint64_t>(NumberType::uint64);
  check_floating<float>(NumberType::float32);
  check_floating<double>(NumberType::float64);
  check_floating<long double>(NumberType::long_double);
  check_complex<float>(NumberType::complex64);
  check_complex<double>(NumberType::complex128);
  check_complex<long double>(NumberType::complex_long_double);
  check_pair<std::int16_t, std::int32_t>(NumberType::int16_with_place);
  check_pair<std::int32_t, std::int32_t>(NumberType::int32_with_place);
  check_pair<std::int64_t, std::int32_t>(NumberType::int64_with_place);
  check_pair<float, std::int32_t>(NumberType::float32_with_place);
  check_pair<double, std::int32_t>(NumberType::float64_with_place);
  check_pair<long double, std::int32_t>(NumberType::long_double_with_place);
  check_pair<float, float>(NumberType::float32_pair);
  check_pair<double, double>(NumberType::float64_pair);
}

TEST(Reductions, LeaveWhatLiesBetweenMembers) {
  struct Pair {
    std::int16_t value;
    std::int32_t place;
  };
  for (const Operation operation : {Operation::minimum_with_place, Operation::replace, Operation::none}) {
    Pair into, from;
    std::memset(&into, 0x55, sizeof into);
    std::memset(&from, 0x22, sizeof from);
    reduction(operation, NumberType::int16_with_place).value().join(&into, &from, 1);
    unsigned char between;
    std::memcpy(&between, reinterpret_cast<unsigned char*>(&into) + sizeof into.value, 1);
    EXPECT_EQ(between, 0x55);
  }
}

TEST(Reductions, AreNamed) {
  EXPECT_STREQ(reduction(Operation::sum, NumberType::float64).value().name, "sum of float64");
  EXPECT_STREQ(reduction(Operation::bit_or, NumberType::uint8).value().name, "or of uint8");
  EXPECT_STREQ(reduction(Operation::product, NumberType::complex64).value().name, "product of complex64");
}

}  // namespace
}  // namespace grapnel
