// The ranks of a message call: a scope within the world or a group, as a group of the core.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "api/armci/errors.hpp"
#include "api/armci/groups.hpp"

namespace grapnel::armci {

/// The ranks of a scope, by their places in the group and in its order. Masters: the first member of each node.
/// Errors: an unknown scope.
Result<std::vector<int>> places_of_scope(const Job& job, const GroupEntry& group, int scope);

/// The members of `group` at these places as a group of the core; without members where the caller is none of them.
Result<Group> group_of(const Job& job, const GroupEntry& group, const std::vector<int>& places);

/// A scope's ranks, kept with the group once they were asked for. Errors: an unknown scope; the caller is no member of
/// the group.
Result<Scope> ranks_of_scope(const Job& job, GroupEntry& group, int scope);

/// The world's communicator: ARMCI's own between ARMCI_Init and ARMCI_Finalize, else `initial_comm()`. Stops the
/// program where MPI does not run.
MPI_Comm world_comm(const char* call);

}  // namespace grapnel::armci
