// SPDX-License-Identifier: Apache-2.0
#include "rma/kernels/accumulate.hpp"

#include <cmath>
#include <complex>
#include <limits>

#include "kernels/memory.hpp"

namespace grapnel::rma {
namespace {

using kernels_test::Buffer;

template <typename T>
struct TypeOf;
template <>
struct TypeOf<std::int32_t> {
  static constexpr ElementType kType = ElementType::int32;
};
template <>
struct TypeOf<std::int64_t> {
  static constexpr ElementType kType = ElementType::int64;
};
template <>
struct TypeOf<float> {
  static constexpr ElementType kType = ElementType::float32;
};
template <>
struct TypeOf<double> {
  static constexpr ElementType kType = ElementType::float64;
};
template <>
struct TypeOf<std::complex<float>> {
  static constexpr ElementType kType = ElementType::complex64;
};
template <>
struct TypeOf<std::complex<double>> {
  static constexpr ElementType kType = ElementType::complex128;
};

// The reference. Volatile, so that no compiler fuses the product into the sum.
template <typename T>
T add_scaled(T to, T scale, T from) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(to) + static_cast<Unsigned>(scale) * static_cast<Unsigned>(from));
  } else {
    volatile T product = scale * from;
    return to + product;
  }
}

template <typename T>
std::complex<T> add_scaled(std::complex<T> to, std::complex<T> scale, std::complex<T> from) {
  if (scale == std::complex<T>(1)) return {to.real() + from.real(), to.imag() + from.imag()};
  volatile T ac = scale.real() * from.real(), bd = scale.imag() * from.imag();
  volatile T ad = scale.real() * from.imag(), bc = scale.imag() * from.real();
  volatile T real = ac - bd, imaginary = ad + bc;
  return {to.real() + real, to.imag() + imaginary};
}

template <typename T>
struct PartOf {
  using Type = T;
};
template <typename T>
struct PartOf<std::complex<T>> {
  using Type = T;
};

// The same bits, but any NaN is as good as another.
template <typename T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  } else {
    return a == b;
  }
}

template <typename T>
bool same(std::complex<T> a, std::complex<T> b) {
  return same(a.real(), b.real()) && same(a.imag(), b.imag());
}

template <typename Part>
Part random_part(base::Random& random) {
  if constexpr (std::is_integral_v<Part>) {
    return static_cast<Part>(random.next());
  } else {
    using Limits = std::numeric_limits<Part>;
    switch (random.below(60)) {
      case 0: return Limits::infinity();
      case 1: return -Limits::infinity();
      case 2: return Limits::quiet_NaN();
      case 3: return -Part{0};
      case 4: return Limits::denorm_min();
      case 5: return Limits::max();
      default: return (static_cast<Part>(random.next() >> 40) / Part{1 << 20} - Part{8}) * Part{1.1f};
    }
  }
}

template <typename T>
T random_element(base::Random& random) {
  using Part = typename PartOf<T>::Type;
  if constexpr (sizeof(T) == sizeof(Part)) {
    return random_part<Part>(random);
  } else {
    const Part real = random_part<Part>(random);
    return {real, random_part<Part>(random)};
  }
}

template <typename T>
class Accumulate : public testing::Test {
 protected:
  static constexpr std::size_t kGuard = 64;

  void fill(Buffer& buffer, std::size_t offset, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
      const T element = random_element<T>(random_);
      std::memcpy(buffer.data() + offset + i * sizeof(T), &element, sizeof(T));
    }
  }

  T element(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  void expect_added(const AccumulateMethods& method, std::size_t elements, std::size_t to_offset,
                    std::size_t from_offset, T scale) {
    const std::size_t bytes = elements * sizeof(T);
    Buffer to(bytes + 2 * kGuard, to_offset, random_), from(bytes, from_offset, random_);
    fill(to, kGuard, elements);
    fill(from, 0, elements);
    const std::vector<std::byte> before = to.content();
    const bool scaled = scale != T(1);
    method.rows[static_cast<int>(TypeOf<T>::kType)][scaled](to.data() + kGuard, 0, from.data(), 0, bytes, 1, &scale);
    for (std::size_t i = 0; i < elements; ++i) {
      const std::size_t at = kGuard + i * sizeof(T);
      const T a = element(before.data() + at), b = element(from.data() + i * sizeof(T));
      ASSERT_TRUE(same(element(to.data() + at), add_scaled(a, scale, b)))
          << method.name << ": element " << i << " of " << elements << " at " << to_offset << "/" << from_offset;
    }
    ASSERT_EQ(std::memcmp(before.data(), to.data(), kGuard), 0);
    ASSERT_EQ(std::memcmp(before.data() + kGuard + bytes, to.data() + kGuard + bytes, kGuard), 0);
  }

  base::Random random_{kernels_test::seed()};
};

using Types = testing::Types<std::int32_t, std::int64_t, float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Accumulate, Types);

TYPED_TEST(Accumulate, EqualsTheNaiveLoop) {
  SCOPED_TRACE(kernels_test::replay());
  for (const AccumulateMethods& method : accumulate_methods()) {
    for (std::size_t elements = 0; elements <= 150; ++elements) {
      for (int i = 0; i < 6; ++i) {
        const std::size_t t = this->random_.below(70), f = this->random_.below(70);
        const TypeParam scale = i % 3 == 0 ? TypeParam(1) : random_element<TypeParam>(this->random_);
        ASSERT_NO_FATAL_FAILURE(this->expect_added(method, elements, t, f, scale));
      }
    }
    ASSERT_NO_FATAL_FAILURE(this->expect_added(method, 4099, 0, 0, TypeParam(3)));
    ASSERT_NO_FATAL_FAILURE(this->expect_added(method, 4099, 8, 1, TypeParam(-2)));
  }
}

TYPED_TEST(Accumulate, TheChosenLoopIsTheOneForTheScale) {
  for (const TypeParam scale : {TypeParam(1), TypeParam(-2), TypeParam(0)}) {
    TypeParam to[3] = {TypeParam(10), TypeParam(20), TypeParam(30)};
    const TypeParam from[3] = {TypeParam(1), TypeParam(2), TypeParam(3)};
    accumulate(TypeOf<TypeParam>::kType, to, from, sizeof to, &scale);
    EXPECT_TRUE(same(to[0], TypeParam(10) + scale * TypeParam(1)));
    EXPECT_TRUE(same(to[1], TypeParam(20) + scale * TypeParam(2)));
    EXPECT_TRUE(same(to[2], TypeParam(30) + scale * TypeParam(3)));
  }
}

// accumulate.hpp, invariant 1: a transfer may be cut anywhere and lie anywhere.
TYPED_TEST(Accumulate, TheResultDoesNotDependOnCutOrAlignment) {
  SCOPED_TRACE(kernels_test::replay());
  constexpr std::size_t kElements = 200, kBytes = kElements * sizeof(TypeParam);
  base::Random& random = this->random_;
  for (int round = 0; round < 50; ++round) {
    Buffer whole(kBytes, 0, random), cut(kBytes, random.below(64), random), from(kBytes, random.below(64), random);
    this->fill(whole, 0, kElements);
    this->fill(from, 0, kElements);
    std::memcpy(cut.data(), whole.data(), kBytes);
    const auto scale = random_element<TypeParam>(random);
    accumulate(TypeOf<TypeParam>::kType, whole.data(), from.data(), kBytes, &scale);
    for (std::size_t at = 0; at < kBytes;) {
      const std::size_t bytes = std::min(kBytes - at, random.between(1, 60) * sizeof(TypeParam));
      accumulate(TypeOf<TypeParam>::kType, cut.data() + at, from.data() + at, bytes, &scale);
      at += bytes;
    }
    for (std::size_t at = 0; at < kBytes; at += sizeof(TypeParam)) {
      ASSERT_TRUE(same(this->element(whole.data() + at), this->element(cut.data() + at)));
    }
  }
}

TEST(AccumulateEdge, IntegersWrap) {
  std::int32_t to = std::numeric_limits<std::int32_t>::max();
  const std::int32_t from = 1, scale = 1;
  accumulate(ElementType::int32, &to, &from, sizeof to, &scale);
  EXPECT_EQ(to, std::numeric_limits<std::int32_t>::min());
}

TEST(AccumulateEdge, AScaleOfOneKeepsInfinitiesApart) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::complex<float> to{1, 2};
  const std::complex<float> from{infinity, 3}, scale{1, 0};
  accumulate(ElementType::complex64, &to, &from, sizeof to, &scale);
  EXPECT_EQ(to, std::complex<float>(infinity, 5));
}

TEST(AccumulateEdge, ExclusiveOrIgnoresTheScale) {
  base::Random random(kernels_test::seed());
  SCOPED_TRACE(kernels_test::replay());
  for (const AccumulateMethods& method : accumulate_methods()) {
    for (std::size_t words = 0; words <= 70; ++words) {
      std::vector<std::uint64_t> to(words), from(words), expected(words);
      for (std::size_t i = 0; i < words; ++i) {
        to[i] = random.next(), from[i] = random.next();
        expected[i] = to[i] ^ from[i];
      }
      const std::uint64_t scale = random.next();
      auto* const target = reinterpret_cast<std::byte*>(to.data());
      const auto* const source = reinterpret_cast<const std::byte*>(from.data());
      for (const auto& rows : method.rows[static_cast<int>(ElementType::xor64)]) {
        rows(target, 0, source, 0, words * sizeof(std::uint64_t), 1, &scale);
        EXPECT_EQ(to, expected) << method.name << ": " << words;
        rows(target, 0, source, 0, words * sizeof(std::uint64_t), 1, &scale);  // back to where it was
      }
    }
  }
  std::uint64_t to = 12;
  const std::uint64_t from = 10, scale = 0;
  accumulate(ElementType::xor64, &to, &from, sizeof to, &scale);
  EXPECT_EQ(to, 6u);
}

TEST(AccumulateEdge, ElementSizes) {
  EXPECT_EQ(element_bytes(ElementType::int32), 4u);
  EXPECT_EQ(element_bytes(ElementType::int64), 8u);
  EXPECT_EQ(element_bytes(ElementType::float32), 4u);
  EXPECT_EQ(element_bytes(ElementType::float64), 8u);
  EXPECT_EQ(element_bytes(ElementType::complex64), 8u);
  EXPECT_EQ(element_bytes(ElementType::complex128), 16u);
  EXPECT_EQ(element_bytes(ElementType::xor64), 8u);
  EXPECT_TRUE(is_element_type(0));
  EXPECT_TRUE(is_element_type(kElementTypes - 1));
  EXPECT_FALSE(is_element_type(kElementTypes));
  EXPECT_FALSE(is_element_type(-1));
}

}  // namespace
}  // namespace grapnel::rma
