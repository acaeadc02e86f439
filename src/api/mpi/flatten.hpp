// A derived datatype taken apart into a layout: all combiners of MPI 3.1, section 4.1.13. MPI 3
// has removed the _INTEGER ones, and no host makes them.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "window/layout.hpp"

namespace grapnel::front {

/// With the extent that the host names. Null for MPI_DATATYPE_NULL and what the host cannot take apart. Cost: its
/// length, and that of each type inside.
window::LayoutPointer flattened(MPI_Datatype type);

}  // namespace grapnel::front
