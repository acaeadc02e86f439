// The kernels of updates, in a table: those of include/grapnel/reduction.hpp, and for sums the loops of
// kernels/accumulate.hpp, which use the processor's widest vectors.
//
// Threads: any. Cost: an index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "grapnel/reduction.hpp"

namespace grapnel::rma {

/// Null: the type does not have the operation; or the operation works on absolute values, which an update does not; or
/// the numbers, received from a rank or a caller, name none. `kernel_of` answers which.
const Reduction* find_kernel(grapnel::Operation operation, NumberType number);

}  // namespace grapnel::rma
