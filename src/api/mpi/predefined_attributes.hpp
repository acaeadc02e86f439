// MPI's own attributes of a window: base, size, unit, flavour, memory model.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/mpi/handles.hpp"

namespace grapnel::front {

bool is_predefined_attribute(int keyval);
/// The value as MPI_Win_get_attr has it: the base itself, else the address of the value. Needs a predefined keyval.
void* predefined_attribute(Taken& taken, int keyval);

}  // namespace grapnel::front
