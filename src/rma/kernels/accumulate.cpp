// SPDX-License-Identifier: Apache-2.0
#include "rma/kernels/accumulate.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "os/cpu.hpp"

namespace grapnel::rma {
namespace {

// Vectors of 16 bytes are the compiler's business on any architecture.
namespace baseline {
#define GRAPNEL_TARGET
#define GRAPNEL_VECTOR_BYTES 16
#include "rma/kernels/accumulate_loops.inc"
#undef GRAPNEL_VECTOR_BYTES
#undef GRAPNEL_TARGET
}  // namespace baseline

#if GRAPNEL_X86
namespace avx2 {
#define GRAPNEL_TARGET __attribute__((target("avx2")))
#define GRAPNEL_VECTOR_BYTES 32
#include "rma/kernels/accumulate_loops.inc"
#undef GRAPNEL_VECTOR_BYTES
#undef GRAPNEL_TARGET
}  // namespace avx2

namespace avx512 {
#define GRAPNEL_TARGET __attribute__((target("avx512f")))
#define GRAPNEL_VECTOR_BYTES 64
#include "rma/kernels/accumulate_loops.inc"
#undef GRAPNEL_VECTOR_BYTES
#undef GRAPNEL_TARGET
}  // namespace avx512
#endif

constexpr std::array kMethods {
  baseline::make_methods("baseline"),
#if GRAPNEL_X86
      avx2::make_methods("avx2"), avx512::make_methods("avx512"),
#endif
};

// 101: as in copy.cpp.
[[gnu::init_priority(101)]] const AccumulateMethods kAccumulateMethods = accumulate_methods().back();

template <typename Number>
bool equals(const void* scale, Number real, Number imaginary) {
  Number parts[2];
  std::memcpy(parts, scale, sizeof parts);
  return parts[0] == real && parts[1] == imaginary;
}

template <typename Number>
bool equals(const void* scale, Number value) {
  Number number;
  std::memcpy(&number, scale, sizeof number);
  return number == value;
}

bool is_one(ElementType type, const void* scale) {
  switch (type) {
    case ElementType::int32: return equals<std::int32_t>(scale, 1);
    case ElementType::int64: return equals<std::int64_t>(scale, 1);
    case ElementType::float32: return equals<float>(scale, 1);
    case ElementType::float64: return equals<double>(scale, 1);
    case ElementType::complex64: return equals<float>(scale, 1, 0);
    case ElementType::complex128: return equals<double>(scale, 1, 0);
    case ElementType::xor64: return true;
  }
  return false;
}

}  // namespace

std::span<const AccumulateMethods> accumulate_methods() {
  return std::span(kMethods).first(os::methods_here(kMethods.size()));
}

AccumulateRows choose_accumulate(ElementType type, const void* scale) {
  GRAPNEL_CHECK(is_element_type(static_cast<int>(type)), "type {}", static_cast<int>(type));
  return kAccumulateMethods.rows[static_cast<int>(type)][is_one(type, scale) ? 0 : 1];
}

}  // namespace grapnel::rma
