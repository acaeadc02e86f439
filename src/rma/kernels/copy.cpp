#include "rma/kernels/copy.hpp"

#include <algorithm>
#include <array>

#include "base/units.hpp"
#include "rma/kernels/cpu.hpp"

#if GRAPNEL_KERNELS_X86
#include <immintrin.h>
#endif

namespace grapnel::rma {
namespace {

#if GRAPNEL_KERNELS_X86
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLineBytes = base::kCacheLineBytes;

// Up to here the check for page ends costs more than it saves.
constexpr std::size_t kMediumBytes = base::kKiB;

// From here both sides together outgrow what the second TLB level reaches with 4 KiB pages (3072 of them here).
constexpr std::size_t kCrossingFromBytes = 5 * base::kMiB;

inline void store_fence() { _mm_sfence(); }

namespace sse2 {
#define GRAPNEL_TARGET
#define GRAPNEL_VECTOR_BYTES 16
inline void nontemporal_store(std::byte* to, const __m128i& value) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), value);
}
#include "rma/kernels/copy_loops.inc"
#undef GRAPNEL_VECTOR_BYTES
#undef GRAPNEL_TARGET
}  // namespace sse2

namespace avx2 {
#define GRAPNEL_TARGET __attribute__((target("avx2")))
#define GRAPNEL_VECTOR_BYTES 32
GRAPNEL_TARGET inline void nontemporal_store(std::byte* to, const __m256i& value) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), value);
}
#include "rma/kernels/copy_loops.inc"
#undef GRAPNEL_VECTOR_BYTES
#undef GRAPNEL_TARGET
}  // namespace avx2

constexpr std::array kMethods{CopyMethods{"sse2", sse2::copy, sse2::copy_rows},
                              CopyMethods{"avx2", avx2::copy, avx2::copy_rows}};
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

std::size_t methods_here() { return GRAPNEL_KERNELS_X86 && !cpu_has_avx2() ? 1 : kMethods.size(); }

// Three quarters of the share, as both sides of a copy pass through it; measured: the crossover is at 12 MiB for a
// share of 16. The lower bound guards against machines that misreport their cache.
std::size_t choose_nontemporal_from() { return std::max(cache_share_bytes() / 4 * 3, 2 * base::kMiB); }

// 101: the earliest priority that programs may use, so that a copy from any other static object finds it set.
struct Limits {
  std::size_t nontemporal_from;
};
[[gnu::init_priority(101)]] const Limits kLimits = {choose_nontemporal_from()};

}  // namespace

[[gnu::init_priority(101)]] const CopyMethods kCopyMethods = copy_methods().back();

std::span<const CopyMethods> copy_methods() { return std::span(kMethods).first(methods_here()); }

std::size_t nontemporal_from_bytes() { return kLimits.nontemporal_from; }

}  // namespace grapnel::rma
