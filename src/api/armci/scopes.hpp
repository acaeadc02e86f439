// The ranks of a message call: a scope within the world or a group, as a communicator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "api/armci/errors.hpp"
#include "api/armci/groups.hpp"

namespace grapnel::armci {

/// The ranks of a scope, by their places in the group and in its order. Masters: the first member of each node.
/// Errors: an unknown scope.
Result<std::vector<int>> places_of_scope(const Job& job, const GroupEntry& group, int scope);

/// A scope's communicator, or MPI_COMM_NULL in a rank that takes no part. Made on first use, collectively over the
/// scope's ranks; freed with the group. Errors: an unknown scope; the caller is no member.
Result<MPI_Comm> comm_of_scope(Job& job, GroupEntry& group, int scope);

/// The world's communicator: ARMCI's own between ARMCI_Init and ARMCI_Finalize, else `initial_comm()`. Stops the
/// program where MPI does not run.
MPI_Comm world_comm(const char* call);

}  // namespace grapnel::armci
