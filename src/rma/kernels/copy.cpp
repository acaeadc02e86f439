// SPDX-License-Identifier: Apache-2.0
#include "rma/kernels/copy.hpp"

#include <algorithm>
#include <array>

#include "base/units.hpp"
#include "os/cpu.hpp"

#if GRAPNEL_X86
#include <immintrin.h>
#endif

namespace grapnel::rma {
namespace {

#if GRAPNEL_X86
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLineBytes = base::kCacheLineBytes;

// Up to here the check for page ends costs more than it saves.
constexpr std::size_t kMediumBytes = base::kKiB;

inline void store_fence() { _mm_sfence(); }

// From here both sides together outgrow what the second TLB level reaches with 4 KiB pages (3072 of them on Zen 4).
constexpr std::size_t kCrossingFromBytes = 5 * base::kMiB;
// From here both sides together outgrow the first level of cache (48 KiB on Intel's servers and Zen 5).
constexpr std::size_t kAheadFromBytes = 24 * base::kKiB;
// From here the string instruction is the fastest on Zen 5, wherever in their pages the two sides begin.
constexpr std::size_t kStringFromBytes = 512 * base::kKiB;

// What one processor's way differs by; docs/kernels.md.
struct Plan {
  std::size_t far_from_bytes;             // from here on GRAPNEL_COPY_FAR
  std::size_t pages_at_once = 1;          // non-temporal
  std::size_t source_ahead_bytes = 2048;  // non-temporal, asked for ahead
  std::size_t row_block_bytes = 128;
  bool turns_back = false;  // where the destination begins just behind the source
};

inline void nontemporal_store(std::byte* to, const __m128i& value) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), value);
}
__attribute__((target("avx2"))) inline void nontemporal_store(std::byte* to, const __m256i& value) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), value);
}
__attribute__((target("avx512f"))) inline void nontemporal_store(std::byte* to, const __m512i& value) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), value);
}

namespace sse2 {
#define GRAPNEL_TARGET
#define GRAPNEL_COPY_FAR copy_crossing
#define GRAPNEL_VECTOR_BYTES 16
constexpr Plan kPlan{.far_from_bytes = kCrossingFromBytes};
#include "rma/kernels/copy_loops.inc"
#undef GRAPNEL_VECTOR_BYTES
#undef GRAPNEL_TARGET
}  // namespace sse2

namespace avx2 {
#define GRAPNEL_TARGET __attribute__((target("avx2")))
#define GRAPNEL_VECTOR_BYTES 32
constexpr Plan kPlan{.far_from_bytes = kCrossingFromBytes};
#include "rma/kernels/copy_loops.inc"
#undef GRAPNEL_VECTOR_BYTES
#undef GRAPNEL_TARGET
#undef GRAPNEL_COPY_FAR
}  // namespace avx2

namespace avx512 {
#define GRAPNEL_TARGET __attribute__((target("avx512f,prfchw")))
#define GRAPNEL_COPY_FAR copy_ahead
#define GRAPNEL_VECTOR_BYTES 64
constexpr Plan kPlan{.far_from_bytes = kAheadFromBytes, .pages_at_once = 2, .source_ahead_bytes = 0};
#include "rma/kernels/copy_loops.inc"
#undef GRAPNEL_VECTOR_BYTES
#undef GRAPNEL_TARGET
#undef GRAPNEL_COPY_FAR
}  // namespace avx512

namespace avx512_string {
#define GRAPNEL_TARGET __attribute__((target("avx512f")))
#define GRAPNEL_COPY_FAR copy_by_string
#define GRAPNEL_VECTOR_BYTES 64
constexpr Plan kPlan{.far_from_bytes = kAheadFromBytes, .row_block_bytes = 256, .turns_back = true};
#include "rma/kernels/copy_loops.inc"
#undef GRAPNEL_VECTOR_BYTES
#undef GRAPNEL_TARGET
#undef GRAPNEL_COPY_FAR
}  // namespace avx512_string

constexpr std::array kMethods{CopyMethods{"sse2", sse2::copy, sse2::copy_rows},
                              CopyMethods{"avx2", avx2::copy, avx2::copy_rows},
                              CopyMethods{"avx512", avx512::copy, avx512::copy_rows},
                              CopyMethods{"avx512 string", avx512_string::copy, avx512_string::copy_rows}};
#else
namespace portable {
void copy(std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

void copy_rows(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from, std::ptrdiff_t from_stride,
               std::size_t row_bytes, std::size_t rows) {
  for (; rows > 0; --rows, to += to_stride, from += from_stride) grapnel::rma::copy(to, from, row_bytes);
}
}  // namespace portable

constexpr std::array kMethods{CopyMethods{"portable", portable::copy, portable::copy_rows}};
#endif

// Measured, where both sides of a copy pass through the cache. Intel's servers: 5/8 of the share of the second level,
// 1.25 MiB of 2; the third is far, and in a virtual machine its size means nothing. Zen 4 and 5: 3/4 of the share of
// the third, 12 MiB of 16. The lower bound guards against machines that misreport their cache.
std::size_t choose_nontemporal_from() {
  if (os::vectors_here() == os::VectorSet::avx512)
    return std::max(os::second_cache_share_bytes() / 8 * 5, base::kMiB / 2);
  return std::max(os::last_cache_share_bytes() / 4 * 3, 2 * base::kMiB);
}

// 101: the earliest priority that programs may use, so that a copy from any other static object finds it set.
struct Limits {
  std::size_t nontemporal_from;
};
[[gnu::init_priority(101)]] const Limits kLimits = {choose_nontemporal_from()};

}  // namespace

[[gnu::init_priority(101)]] const CopyMethods kCopyMethods = copy_methods().back();

std::span<const CopyMethods> copy_methods() { return std::span(kMethods).first(os::methods_here(kMethods.size())); }

std::size_t nontemporal_from_bytes() { return kLimits.nontemporal_from; }

}  // namespace grapnel::rma
