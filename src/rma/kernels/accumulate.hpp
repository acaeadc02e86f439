// destination += scale × source, element by element; destination ^= source for xor64.
//
// Threads: any; this is arithmetic only: what excludes other accumulates from the same elements (rma/stripes.hpp) is
// around it. Invariants:
//  1. An element's result depends on nothing but its own operands, not on alignment, on where a transfer was cut or on
//     the processor: product and sum are rounded separately, never fused, and integers wrap.
//  2. Addresses need no alignment.
//  3. A scale of exactly 1 adds without multiplying. It differs from multiplying only for complex numbers that hold an
//     infinity or a NaN, where 1+0i times them would make a NaN of the other part.
//  Complex products are (ac − bd, ad + bc), as BLAS does them, without C's rules for infinities.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "grapnel/element.hpp"

namespace grapnel::rma {

/// `rows` rows of `row_bytes`, each side at its stride.
using AccumulateRows = void (*)(std::byte* destination, std::ptrdiff_t destination_stride, const std::byte* source,
                                std::ptrdiff_t source_stride, std::size_t row_bytes, std::size_t rows,
                                const void* scale);

/// The loops of one instruction set: [type][0] for a scale of 1, [type][1] for any.
struct AccumulateMethods {
  const char* name;
  AccumulateRows rows[kElementTypes][2];
};

/// All that run on this processor, the best last; for tests and measurements.
std::span<const AccumulateMethods> accumulate_methods();

/// The loop for this type and this scale, for this processor.
AccumulateRows choose_accumulate(ElementType type, const void* scale);

/// destination += scale × source, or destination ^= source. `bytes` is a multiple of the element; `scale` points to
/// one. The sides are the same or do not overlap.
inline void accumulate(ElementType type, void* destination, const void* source, std::size_t bytes, const void* scale) {
  choose_accumulate(type, scale)(static_cast<std::byte*>(destination), 0, static_cast<const std::byte*>(source), 0,
                                 bytes, 1, scale);
}

}  // namespace grapnel::rma
