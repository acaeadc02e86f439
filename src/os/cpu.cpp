// SPDX-License-Identifier: Apache-2.0
#include "os/cpu.hpp"

#if GRAPNEL_X86
#include <cpuid.h>
#include <unistd.h>

#include <algorithm>
#endif

namespace grapnel::os {

#if GRAPNEL_X86
namespace {

// Asked of the processor: sysconf(_SC_LEVEL3_CACHE_SIZE) and glibc add up all the slices of a big AMD machine, 320 MiB
// where a core reaches 32.
constexpr unsigned kCachesIntel = 4;
constexpr unsigned kCachesAmd = 0x8000001d;

// Of the caches of a level in [first_level, last_level].
std::size_t largest_share(unsigned leaf, unsigned first_level, unsigned last_level) {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  std::size_t share = 0;
  for (unsigned cache = 0; cache < 8; ++cache) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf, cache, &a, &b, &c, &d) == 0 || (a & 0x1f) == 0) break;
    const std::size_t ways = (b >> 22) + 1, partitions = (b >> 12 & 0x3ff) + 1, line = (b & 0xfff) + 1, sets = c + 1ul;
    // A virtual machine passes on how many processors could share the cache, also those that it does not have.
    const std::size_t sharing = std::min<std::size_t>((a >> 14 & 0xfff) + 1, online > 0 ? online : 1);
    const unsigned level = a >> 5 & 7;
    if (level >= first_level && level <= last_level) share = std::max(share, ways * partitions * line * sets / sharing);
  }
  return share;
}

// The compiler that we build with knows no Zen 5 by name.
unsigned family_here() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return 0;
  const unsigned family = a >> 8 & 0xf;
  return family == 0xf ? family + (a >> 20 & 0xff) : family;
}

}  // namespace

VectorSet vectors_here() {
  constexpr unsigned kZen5 = 0x1a;
  __builtin_cpu_init();
  const bool has_avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2") &&
                          __builtin_cpu_supports("avx512vpopcntdq");
  if (__builtin_cpu_is("amd") && has_avx512 && family_here() >= kZen5) return VectorSet::avx512_string;
  // vbmi2: since Ice Lake. Those before it clock down for wide vectors, the caller's code after them, too.
  if (__builtin_cpu_is("intel") && has_avx512) return VectorSet::avx512;
  return __builtin_cpu_supports("avx2") ? VectorSet::avx2 : VectorSet::baseline;
}

std::size_t last_cache_share_bytes() {
  return std::max(largest_share(kCachesIntel, 3, 7), largest_share(kCachesAmd, 3, 7));
}

std::size_t second_cache_share_bytes() {
  return std::max(largest_share(kCachesIntel, 2, 2), largest_share(kCachesAmd, 2, 2));
}
#else
VectorSet vectors_here() { return VectorSet::baseline; }
std::size_t last_cache_share_bytes() { return 0; }
std::size_t second_cache_share_bytes() { return 0; }
#endif

}  // namespace grapnel::os
