#include "rma/kernels/cpu.hpp"

#if GRAPNEL_KERNELS_X86
#include <cpuid.h>
#include <unistd.h>

#include <algorithm>
#endif

namespace grapnel::rma {

#if GRAPNEL_KERNELS_X86
namespace {

// Asked of the processor: sysconf(_SC_LEVEL3_CACHE_SIZE) and glibc add up all the slices of a big AMD machine, 320 MiB
// where a core reaches 32.
constexpr unsigned kCachesIntel = 4;
constexpr unsigned kCachesAmd = 0x8000001d;

std::size_t largest_share(unsigned leaf, long online) {
  std::size_t share = 0;
  for (unsigned cache = 0; cache < 8; ++cache) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf, cache, &a, &b, &c, &d) == 0 || (a & 0x1f) == 0) break;
    const std::size_t ways = (b >> 22) + 1, partitions = (b >> 12 & 0x3ff) + 1, line = (b & 0xfff) + 1, sets = c + 1ul;
    // A virtual machine passes on how many processors could share the cache, also those that it does not have.
    const std::size_t sharing = std::min<std::size_t>((a >> 14 & 0xfff) + 1, online > 0 ? online : 1);
    if ((a >> 5 & 7) >= 3) share = std::max(share, ways * partitions * line * sets / sharing);
  }
  return share;
}

}  // namespace

std::size_t cache_share_bytes() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return std::max(largest_share(kCachesIntel, online), largest_share(kCachesAmd, online));
}
#else
std::size_t cache_share_bytes() { return 0; }
#endif

}  // namespace grapnel::rma
