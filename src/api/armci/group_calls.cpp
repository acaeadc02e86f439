// The group calls of the interface.
// SPDX-License-Identifier: Apache-2.0
#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"

using grapnel::Result;
using grapnel::Status;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

void create_child(const char* call, int count, const int* ranks, ARMCI_Group* group, const ARMCI_Group* parent) {
  must(call, [&](Job& job) -> Status {
    if (group == nullptr) return null_pointer("group");
    const ARMCI_Group of_default = job.groups.default_group();
    GRAPNEL_ASSIGN_OR_RETURN(const auto from, job.groups.find_mine(parent != nullptr ? parent : &of_default));
    const auto made = job.groups.create(*from, ranks, count);
    if (made.ok()) *group = *made;
    return made.status();
  });
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE(void, Group_create, (int count, int* ranks, ARMCI_Group* group)) {
  create_child("ARMCI_Group_create", count, ranks, group, nullptr);
}

ARMCI_DEFINE(void, Group_create_child, (int count, int* ranks, ARMCI_Group* group, ARMCI_Group* parent)) {
  if (parent == nullptr) stop("ARMCI_Group_create_child", null_pointer("parent"));
  create_child("ARMCI_Group_create_child", count, ranks, group, parent);
}

ARMCI_DEFINE(void, Group_free, (ARMCI_Group * group)) {
  must("ARMCI_Group_free",
       [&](Job& job) { return group == nullptr ? null_pointer("group") : job.groups.free(*group); });
}

ARMCI_DEFINE(int, Group_rank, (ARMCI_Group * group, int* rank)) {
  return answer("ARMCI_Group_rank", [&](Job& job) -> Status {
    if (rank == nullptr) return null_pointer("rank");
    *rank = -1;
    const auto entry = job.groups.find_mine(group);
    if (entry.ok()) *rank = (*entry)->my_index;
    return entry.status();
  });
}

ARMCI_DEFINE(void, Group_size, (ARMCI_Group * group, int* size)) {
  must("ARMCI_Group_size", [&](Job& job) -> Status {
    if (size == nullptr) return null_pointer("size");
    const auto entry = job.groups.find(group);
    if (entry.ok()) *size = (*entry)->size();
    return entry.status();
  });
}

ARMCI_DEFINE(void, Group_set_default, (ARMCI_Group * group)) {
  must("ARMCI_Group_set_default", [&](Job& job) -> Status {
    const auto entry = job.groups.find(group);
    if (entry.ok()) job.groups.set_default(*group);
    return entry.status();
  });
}

ARMCI_DEFINE(void, Group_get_default, (ARMCI_Group * group)) {
  must("ARMCI_Group_get_default", [&](Job& job) -> Status {
    if (group == nullptr) return null_pointer("group");
    *group = job.groups.default_group();
    return {};
  });
}

ARMCI_DEFINE(void, Group_get_world, (ARMCI_Group * group)) {
  must("ARMCI_Group_get_world", [&](Job& job) -> Status {
    if (group == nullptr) return null_pointer("group");
    *group = job.groups.world_handle();
    return {};
  });
}

ARMCI_DEFINE(int, Absolute_id, (ARMCI_Group * group, int group_rank)) {
  return value_of("ARMCI_Absolute_id", [&](Job& job) -> Result<int> {
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find(group));
    if (group_rank < 0 || group_rank >= entry->size()) return bad_rank(group_rank, entry->size());
    return entry->members[static_cast<std::size_t>(group_rank)];
  });
}

ARMCI_DEFINE_LOWER(MPI_Comm, group_comm, (ARMCI_Group * group)) {
  return value_of("armci_group_comm", [&](Job& job) -> Result<MPI_Comm> {
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find(group));
    return entry->comm;
  });
}
