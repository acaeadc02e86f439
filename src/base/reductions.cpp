// The reductions of every operation and type: two templates, and no table that names both.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "grapnel/reduction.hpp"

namespace grapnel {
namespace {

/// A value and its place, as C lays it out. What lies between and behind the two is no part of it.
template <typename Value, typename Place>
struct Placed {
  Value value;
  Place place;
};

template <typename Number>
inline constexpr bool kIsPair = false;
template <typename Value, typename Place>
inline constexpr bool kIsPair<Placed<Value, Place>> = true;
template <typename Number>
inline constexpr bool kIsComplex = !std::is_arithmetic_v<Number> && !kIsPair<Number>;

/// Wraps around where signed overflow would be undefined.
template <typename Number, typename Apply>
constexpr Number wrapped(Number a, Number b, Apply apply) {
  if constexpr (std::is_integral_v<Number>) {
    using Wide = std::common_type_t<std::make_unsigned_t<Number>, unsigned>;  // a product of 16 bit needs more than int
    return static_cast<Number>(apply(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return apply(a, b);
  }
}

template <typename Number>
Number absolute(Number a) {
  if constexpr (std::is_unsigned_v<Number>) return a;
  if constexpr (std::is_floating_point_v<Number>) return std::abs(a);
  return a < 0 ? wrapped<Number>(0, a, [](auto x, auto y) { return x - y; }) : a;
}

/// Whether the operation exists for the type.
template <Operation operation, typename Number>
constexpr bool exists() {
  switch (operation) {
    case Operation::sum:
    case Operation::product: return !kIsPair<Number>;
    case Operation::bit_and:
    case Operation::bit_or:
    case Operation::bit_xor: return std::is_integral_v<Number>;
    case Operation::minimum_with_place:
    case Operation::maximum_with_place: return kIsPair<Number>;
    case Operation::replace:
    case Operation::none: return true;
    default: return std::is_arithmetic_v<Number>;
  }
}

template <typename Value, typename Place>
bool is_earlier(const Placed<Value, Place>& a, const Placed<Value, Place>& b) {
  return a.value == b.value && a.place < b.place;
}

template <Operation operation, typename Number>
Number joined(Number a, Number b) {
  if constexpr (operation == Operation::sum) return wrapped(a, b, [](auto x, auto y) { return x + y; });
  // As BLAS multiplies, without C's rules for infinities.
  if constexpr (operation == Operation::product && kIsComplex<Number>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else if constexpr (operation == Operation::product) {
    return wrapped(a, b, [](auto x, auto y) { return x * y; });
  }
  if constexpr (operation == Operation::minimum || operation == Operation::least_absolute) return b < a ? b : a;
  if constexpr (operation == Operation::maximum || operation == Operation::largest_absolute) return a < b ? b : a;
  if constexpr (operation == Operation::logical_and) return static_cast<Number>(a != Number{} && b != Number{});
  if constexpr (operation == Operation::logical_or) return static_cast<Number>(a != Number{} || b != Number{});
  if constexpr (operation == Operation::logical_xor) return static_cast<Number>((a != Number{}) != (b != Number{}));
  if constexpr (operation == Operation::bit_and) return static_cast<Number>(a & b);
  if constexpr (operation == Operation::bit_or) return static_cast<Number>(a | b);
  if constexpr (operation == Operation::bit_xor) return static_cast<Number>(a ^ b);
  if constexpr (operation == Operation::minimum_with_place) return b.value < a.value || is_earlier(b, a) ? b : a;
  if constexpr (operation == Operation::maximum_with_place) return a.value < b.value || is_earlier(b, a) ? b : a;
  if constexpr (operation == Operation::replace) return b;
  if constexpr (operation == Operation::none) return a;
}

template <typename Number>
Number load(const std::byte* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

/// Of a long double, without what x86 fills it up with.
constexpr std::size_t kLongDoubleBytes = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof(long double);

/// What lies between the members of a number, and behind them, stays.
template <typename Number>
void store(std::byte* at, const Number& number) {
  if constexpr (kIsPair<Number>) {
    store(at + offsetof(Number, value), number.value);
    store(at + offsetof(Number, place), number.place);
  } else if constexpr (std::is_same_v<Number, std::complex<long double>>) {
    store(at, number.real());
    store(at + sizeof(long double), number.imag());
  } else {
    std::memcpy(at, &number, std::is_same_v<Number, long double> ? kLongDoubleBytes : sizeof number);
  }
}

template <Operation operation, typename Number>
void join(void* into, const void* from, std::size_t count) {
  auto* __restrict const a = static_cast<std::byte*>(into);
  const auto* __restrict const b = static_cast<const std::byte*>(from);
  for (std::size_t at = 0; at < count * sizeof(Number); at += sizeof(Number)) {
    store(a + at, joined<operation, Number>(load<Number>(a + at), load<Number>(b + at)));
  }
}

template <typename Number>
void take_absolutes(void* elements, std::size_t count) {
  auto* const a = static_cast<std::byte*>(elements);
  for (std::size_t at = 0; at < count * sizeof(Number); at += sizeof(Number)) {
    store(a + at, absolute(load<Number>(a + at)));
  }
}

constexpr std::array<const char*, kOperations> kOperationNames = {"sum",
                                                                  "product",
                                                                  "minimum",
                                                                  "maximum",
                                                                  "least absolute value",
                                                                  "largest absolute value",
                                                                  "logical and",
                                                                  "logical or",
                                                                  "and",
                                                                  "or",
                                                                  "exclusive or",
                                                                  "logical exclusive or",
                                                                  "minimum with place",
                                                                  "maximum with place",
                                                                  "replacement",
                                                                  "no change"};

template <typename Number>
std::string type_name() {
  if constexpr (kIsPair<Number>) {
    using Value = decltype(Number::value);
    using Place = decltype(Number::place);
    return fmt::format("({}, {})", type_name<Value>(), type_name<Place>());
  }
  if constexpr (std::is_same_v<Number, long double>) return "long double";
  if constexpr (std::is_same_v<Number, std::complex<long double>>) return "complex long double";
  const char* const kind = kIsComplex<Number>                 ? "complex"
                           : std::is_floating_point_v<Number> ? "float"
                           : std::is_signed_v<Number>         ? "int"
                                                              : "uint";
  return fmt::format("{}{}", kind, 8 * sizeof(Number));
}

template <Operation operation, typename Number>
Reduction make() {
  if constexpr (exists<operation, Number>()) {
    constexpr bool kOfAbsolutes = operation == Operation::least_absolute || operation == Operation::largest_absolute;
    static const std::string name =
        fmt::format("{} of {}", kOperationNames[static_cast<std::size_t>(operation)], type_name<Number>());
    Reduction made{name.c_str(), sizeof(Number), join<operation, Number>};
    if constexpr (kOfAbsolutes) made.prepare = take_absolutes<Number>;
    return made;
  } else {
    return {};
  }
}

template <typename Number>
Reduction of_type(Operation operation) {
  switch (operation) {
    case Operation::sum: return make<Operation::sum, Number>();
    case Operation::product: return make<Operation::product, Number>();
    case Operation::minimum: return make<Operation::minimum, Number>();
    case Operation::maximum: return make<Operation::maximum, Number>();
    case Operation::least_absolute: return make<Operation::least_absolute, Number>();
    case Operation::largest_absolute: return make<Operation::largest_absolute, Number>();
    case Operation::logical_and: return make<Operation::logical_and, Number>();
    case Operation::logical_or: return make<Operation::logical_or, Number>();
    case Operation::bit_and: return make<Operation::bit_and, Number>();
    case Operation::bit_or: return make<Operation::bit_or, Number>();
    case Operation::bit_xor: return make<Operation::bit_xor, Number>();
    case Operation::logical_xor: return make<Operation::logical_xor, Number>();
    case Operation::minimum_with_place: return make<Operation::minimum_with_place, Number>();
    case Operation::maximum_with_place: return make<Operation::maximum_with_place, Number>();
    case Operation::replace: return make<Operation::replace, Number>();
    case Operation::none: return make<Operation::none, Number>();
  }
  return {};
}

Reduction find(Operation operation, NumberType type) {
  switch (type) {
    case NumberType::int8: return of_type<std::int8_t>(operation);
    case NumberType::uint8: return of_type<std::uint8_t>(operation);
    case NumberType::int16: return of_type<std::int16_t>(operation);
    case NumberType::uint16: return of_type<std::uint16_t>(operation);
    case NumberType::int32: return of_type<std::int32_t>(operation);
    case NumberType::uint32: return of_type<std::uint32_t>(operation);
    case NumberType::int64: return of_type<std::int64_t>(operation);
    case NumberType::uint64: return of_type<std::uint64_t>(operation);
    case NumberType::float32: return of_type<float>(operation);
    case NumberType::float64: return of_type<double>(operation);
    case NumberType::long_double: return of_type<long double>(operation);
    case NumberType::complex64: return of_type<std::complex<float>>(operation);
    case NumberType::complex128: return of_type<std::complex<double>>(operation);
    case NumberType::complex_long_double: return of_type<std::complex<long double>>(operation);
    case NumberType::int16_with_place: return of_type<Placed<std::int16_t, std::int32_t>>(operation);
    case NumberType::int32_with_place: return of_type<Placed<std::int32_t, std::int32_t>>(operation);
    case NumberType::int64_with_place: return of_type<Placed<std::int64_t, std::int32_t>>(operation);
    case NumberType::float32_with_place: return of_type<Placed<float, std::int32_t>>(operation);
    case NumberType::float64_with_place: return of_type<Placed<double, std::int32_t>>(operation);
    case NumberType::long_double_with_place: return of_type<Placed<long double, std::int32_t>>(operation);
    case NumberType::float32_pair: return of_type<Placed<float, float>>(operation);
    case NumberType::float64_pair: return of_type<Placed<double, double>>(operation);
  }
  return {};
}

}  // namespace

Result<Reduction> reduction(Operation operation, NumberType type) {
  Reduction found = find(operation, type);
  if (found.join == nullptr) {
    return Status(Code::invalid_argument, fmt::format("operation {} does not exist for numbers of type {}",
                                                      static_cast<int>(operation), static_cast<int>(type)));
  }
  return found;
}

}  // namespace grapnel
