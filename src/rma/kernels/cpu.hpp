// Which machine code the kernels may use: x86-64's baseline (SSE2) everywhere, AVX2 where the processor has it.
//
// This is the one place that knows architectures; elsewhere the portable code is used. AVX-512 is left out on purpose:
// it was measured and gained nothing (docs/kernels.md).
//
// The loops are written once, in the *_loops.inc files, and compiled once per target: the including file opens a
// namespace, defines GRAPNEL_TARGET and GRAPNEL_VECTOR_BYTES, and includes them. They are not compiled with a -mavx2 of
// their own: inline functions of the headers would come along, and the linker could keep those for everybody.
#pragma once

#include <cstddef>

#if defined(__x86_64__)
#define GRAPNEL_KERNELS_X86 1
#else
#define GRAPNEL_KERNELS_X86 0
#endif

#if defined(__clang__)
#define GRAPNEL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GRAPNEL_UNROLL _Pragma("GCC unroll 16")
#endif

namespace grapnel::rma {

inline bool cpu_has_avx2() {
#if GRAPNEL_KERNELS_X86
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

/// One process's share of the last-level cache, 0 where the processor does not tell.
std::size_t cache_share_bytes();

}  // namespace grapnel::rma
