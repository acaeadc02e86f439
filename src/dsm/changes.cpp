// SPDX-License-Identifier: Apache-2.0
#include "dsm/changes.hpp"

#include <bit>
#include <cstring>
#include <iterator>

#include "base/check.hpp"
#include "dsm/shared_page.hpp"
#include "os/cpu.hpp"

#if GRAPNEL_X86
#include <immintrin.h>
#endif

namespace grapnel::dsm {
namespace {

template <std::size_t kBytes>
struct PartOf {
  using Type [[gnu::vector_size(kBytes), gnu::aligned(1), gnu::may_alias]] = std::uint64_t;
};

#define GRAPNEL_TARGET
namespace baseline {
using Part = PartOf<16>::Type;
#if GRAPNEL_X86
inline std::uint64_t changed_bytes(const Part& a, const Part& b) {
  return static_cast<std::uint16_t>(~_mm_movemask_epi8(_mm_cmpeq_epi8(__m128i(a), __m128i(b))));
}
#else
// A bit for each byte that is not 0.
inline std::uint64_t bytes_set(std::uint64_t word) {
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  const std::uint64_t high = (((word & kLow) + kLow) | word) & ~kLow;
  return (high >> 7) * 0x0102040810204080 >> 56;
}
inline std::uint64_t changed_bytes(const Part& a, const Part& b) {
  return bytes_set(a[0] ^ b[0]) | bytes_set(a[1] ^ b[1]) << 8;
}
#endif
#include "dsm/changes_loop.inc"
}  // namespace baseline
#undef GRAPNEL_TARGET

#if GRAPNEL_X86
#define GRAPNEL_TARGET __attribute__((target("avx2")))
namespace avx2 {
using Part = PartOf<32>::Type;
GRAPNEL_TARGET inline std::uint64_t changed_bytes(const Part& a, const Part& b) {
  return static_cast<std::uint32_t>(~_mm256_movemask_epi8(_mm256_cmpeq_epi8(__m256i(a), __m256i(b))));
}
#include "dsm/changes_loop.inc"
}  // namespace avx2
#undef GRAPNEL_TARGET

#define GRAPNEL_TARGET __attribute__((target("avx512bw")))
namespace avx512 {
using Part = PartOf<64>::Type;
GRAPNEL_TARGET inline std::uint64_t changed_bytes(const Part& a, const Part& b) {
  return _mm512_cmpneq_epi8_mask(__m512i(a), __m512i(b));
}
#include "dsm/changes_loop.inc"
}  // namespace avx512
#undef GRAPNEL_TARGET
#endif

constexpr ChangesMethod kMethods[] = {
    {"baseline", baseline::find_changes},
#if GRAPNEL_X86
    {"avx2", avx2::find_changes},
    {"avx512", avx512::find_changes},
#endif
};

const FindChanges kFindChanges = changes_methods().back().find;

}  // namespace

std::span<const ChangesMethod> changes_methods() {
  return std::span(kMethods).first(os::methods_here(std::size(kMethods)));
}

void find_changes(const std::byte* page, std::byte* twin, Changes& changes) {
  GRAPNEL_ASSERT(changes.lines == 0, "changes of another page are in it: lines {:#x}", changes.lines);
  kFindChanges(page, twin, changes);
  GRAPNEL_ASSERT(changes.count == static_cast<std::size_t>(std::popcount(changes.lines)),
                 "{} lines of changed bytes; the bits {:#x} name others", changes.count, changes.lines);
}

}  // namespace grapnel::dsm
