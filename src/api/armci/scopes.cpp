// SPDX-License-Identifier: Apache-2.0
#include "api/armci/scopes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace grapnel::armci {
namespace {

Status check_scope(int scope) {
  if (scope == SCOPE_ALL || scope == SCOPE_NODE || scope == SCOPE_MASTERS) return {};
  return {Code::invalid_argument, fmt::format("scope is {}; SCOPE_ALL ({}), SCOPE_NODE ({}) and SCOPE_MASTERS ({}) are "
                                              "possible",
                                              scope, SCOPE_ALL, SCOPE_NODE, SCOPE_MASTERS)};
}

}  // namespace

Result<std::vector<int>> places_of_scope(const Job& job, const GroupEntry& group, int scope) {
  GRAPNEL_TRY(check_scope(scope));
  std::vector<int> places;
  std::set<NodeId> seen;
  for (int place = 0; place < group.size(); ++place) {
    const Rank member{group.members[static_cast<std::size_t>(place)]};
    const bool first_of_node = seen.insert(job.runtime->node_of(member)).second;
    const bool takes_part = scope == SCOPE_ALL || (scope == SCOPE_NODE && job.runtime->same_node(member)) ||
                            (scope == SCOPE_MASTERS && first_of_node);
    if (takes_part) places.push_back(place);
  }
  return places;
}

Result<Group> group_of(const Job& job, const GroupEntry& group, const std::vector<int>& places) {
  if (std::find(places.begin(), places.end(), group.my_index) == places.end()) return Group();
  std::vector<Rank> ranks;
  for (const int place : places) ranks.emplace_back(Rank{group.members[static_cast<std::size_t>(place)]});
  return job.runtime->make_group(ranks);
}

Result<Scope> ranks_of_scope(const Job& job, GroupEntry& group, int scope) {
  if (!group.has_me()) return Status(Code::invalid_argument, "the caller is no member of the group");
  GRAPNEL_TRY(check_scope(scope));
  if (scope == SCOPE_ALL) return Scope{group.core, Rank{group.members.front()}};
  std::optional<Scope>& known = scope == SCOPE_NODE ? group.on_node : group.masters;
  if (!known) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto places, places_of_scope(job, group, scope));
    GRAPNEL_ASSIGN_OR_RETURN(auto core, group_of(job, group, places));
    known = Scope{std::move(core), Rank{group.members[static_cast<std::size_t>(places.front())]}};
  }
  return *known;
}

MPI_Comm world_comm(const char* call) {
  if (the_job != nullptr) return the_job->groups.world().comm;
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    stop(call, Status(Code::invalid_argument, "MPI does not run; ARMCI_Init or armci_msg_init starts it"));
  }
  return initial_comm();
}

}  // namespace grapnel::armci
