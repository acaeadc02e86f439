// Which machine code the kernels may use: x86-64's baseline (SSE2) everywhere, AVX2 where the processor has it, AVX-512
// on those of Intel's that do not slow down for it. On AMD's it was measured and gained nothing (docs/kernels.md).
//
// This is the one place that asks the processor. Where a loop needs instructions by name, as the one of dsm/changes.cpp
// does, there is portable code beside it.
//
// Loops are written once, in .inc files, and compiled once per target: the including file opens a namespace, defines
// GRAPNEL_TARGET and what else the file asks for, and includes it. They are not compiled with a -mavx2 of their own:
// inline functions of the headers would be compiled with it, and the linker could keep those for all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#if defined(__x86_64__)
#define GRAPNEL_X86 1
#else
#define GRAPNEL_X86 0
#endif

#if defined(__clang__)
#define GRAPNEL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GRAPNEL_UNROLL _Pragma("GCC unroll 16")
#endif

namespace grapnel::os {

/// In this order: a later one has all that an earlier one has. `avx512`: with its instructions for bytes and words, and
/// those that compress, expand and count (avx512bw, avx512vbmi2, avx512vpopcntdq). `avx512_string`: AMD since Zen 5,
/// which has vectors of 64 bytes in one piece, and a string instruction that is faster than loops where data is not
/// near.
enum class VectorSet { baseline, avx2, avx512, avx512_string };

/// The best one for this processor.
VectorSet vectors_here();

/// How many of `methods`, one per set and in their order, run here.
inline std::size_t methods_here(std::size_t methods) {
  return std::min(methods, static_cast<std::size_t>(vectors_here()) + 1);
}

/// One process's share of the last-level cache, and of the second level; 0 where the processor does not tell.
std::size_t last_cache_share_bytes();
std::size_t second_cache_share_bytes();

}  // namespace grapnel::os
