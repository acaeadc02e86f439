// MPI's predefined operations, and for which types each exists.
// Threads: any.
// Source: MPI 3.1, sections 5.9.2, 11.3.4.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <optional>

#include "api/mpi/types.hpp"
#include "grapnel/reduction.hpp"

namespace grapnel::front {

/// None: an operation of the program's own, which MPI forbids here, or no operation.
std::optional<Operation> operation_of(MPI_Op op);

/// Whether MPI defines the operation for a predefined type of that class.
bool is_defined(Operation operation, TypeClass type_class);

/// Whether MPI_Compare_and_swap takes the type.
bool is_comparable(TypeClass type_class);

}  // namespace grapnel::front
