// SPDX-License-Identifier: Apache-2.0
#include "api/armci/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/armci/errors.hpp"
#include "mpi/status.hpp"

namespace grapnel::armci {
namespace {

// Of the messages by which MPI makes a communicator from `parent_`.
constexpr int kCreateTag = 7;

/// The world ranks that a list of a parent's ranks means.
Result<std::vector<int>> members_of(const GroupEntry& parent, const int* ranks, int count) {
  if (count < 0) return negative("count", count);
  if (count > 0 && ranks == nullptr) return null_pointer("ranks");
  std::vector<int> members;
  std::set<int> seen;
  for (int i = 0; i < count; ++i) {
    if (ranks[i] < 0 || ranks[i] >= parent.size()) return bad_rank(ranks[i], parent.size());
    members.push_back(parent.members[static_cast<std::size_t>(ranks[i])]);
    if (!seen.insert(members.back()).second) {
      return Status(Code::invalid_argument, fmt::format("rank {} stands twice in ranks", ranks[i]));
    }
  }
  return members;
}

}  // namespace

Result<MPI_Comm> duplicate(MPI_Comm comm) {
  MPI_Comm own = MPI_COMM_NULL;
  GRAPNEL_TRY(mpi::status_of(MPI_Comm_dup(comm, &own)));
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  return own;
}

void free_comm(MPI_Comm& comm) {
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

// Collective over the members.
Result<MPI_Comm> Groups::create_comm(const std::vector<int>& members) const {
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_group(parent_, &all);
  MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
  const Status made = mpi::status_of(MPI_Comm_create_group(parent_, some, kCreateTag, &comm));
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  if (!made.ok()) return made;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);  // not inherited by all MPIs
  return comm;
}

Status Groups::open(Runtime& runtime, MPI_Comm comm) {
  runtime_ = &runtime;
  GroupEntry& world = add_entry();
  world_ = &world;
  for (int rank = 0; rank < runtime.size(); ++rank) world.members.push_back(rank);
  world.my_index = static_cast<int>(index(runtime.rank()));
  for (MPI_Comm* const own : {&parent_, &world.comm}) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto made, duplicate(comm));
    *own = made;
  }
  world.core = runtime.world();
  world.live = true;
  default_ = world_handle();
  return {};
}

void Groups::clear() {
  const base::MutexLock guard(mutex_);
  std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.serial > b.serial; });
  for (GroupEntry& entry : entries_) free_comm(entry.comm);
  free_comm(parent_);
  entries_.clear();
  world_ = nullptr;
  free_.clear();
}

Result<GroupEntry*> Groups::find(const ARMCI_Group* handle) {
  if (handle == nullptr) return null_pointer("group");
  const base::MutexLock guard(mutex_);
  const bool known = handle->id >= 0 && static_cast<std::size_t>(handle->id) < entries_.size();
  GroupEntry* const entry = known ? &entries_[static_cast<std::size_t>(handle->id)] : nullptr;
  if (entry == nullptr || !entry->live || entry->generation != handle->generation) {
    return Status(Code::invalid_argument, fmt::format("group {} does not exist, or was freed", handle->id));
  }
  return entry;
}

Result<GroupEntry*> Groups::find_mine(const ARMCI_Group* handle) {
  auto entry = find(handle);
  if (entry.ok() && !(*entry)->has_me()) {
    return Status(Code::invalid_argument, fmt::format("the caller is no member of group {}", handle->id));
  }
  return entry;
}

GroupEntry& Groups::add_entry() {
  const base::MutexLock guard(mutex_);
  return entries_.emplace_back();
}

GroupEntry& Groups::take_entry(int& id) {
  const base::MutexLock guard(mutex_);
  if (free_.empty()) {
    entries_.emplace_back();
    free_.push_back(static_cast<int>(entries_.size()) - 1);
  }
  id = free_.back();
  free_.pop_back();
  GroupEntry& entry = entries_[static_cast<std::size_t>(id)];
  entry.serial = ++next_serial_;
  entry.live = true;
  return entry;
}

Result<ARMCI_Group> Groups::create(const GroupEntry& parent, const int* ranks, int count) {
  auto members = members_of(parent, ranks, count);
  if (!members) return members.status();
  const int me = static_cast<int>(index(runtime_->rank()));
  const auto mine = std::find(members->begin(), members->end(), me);
  Group core;
  MPI_Comm comm = MPI_COMM_NULL;
  if (mine != members->end()) {
    std::vector<Rank> of_world;
    for (const int member : *members) of_world.push_back(Rank{member});
    GRAPNEL_ASSIGN_OR_RETURN(auto made, runtime_->make_group(of_world));
    core = std::move(made);
    GRAPNEL_ASSIGN_OR_RETURN(const auto created, create_comm(*members));
    comm = created;
  }
  int id = 0;
  GroupEntry& entry = take_entry(id);
  entry.my_index = mine != members->end() ? static_cast<int>(mine - members->begin()) : -1;
  entry.members = *std::move(members);
  entry.comm = comm;
  entry.core = std::move(core);
  return ARMCI_Group{comm, id, entry.generation};
}

Status Groups::free(const ARMCI_Group& handle) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto found, find(&handle));
  if (handle.id == kWorld) return {Code::invalid_argument, "the world's group cannot be freed"};
  GroupEntry& entry = *found;
  if (entry.has_me()) GRAPNEL_TRY(runtime_->release(entry.core));
  for (const auto& scope : {entry.on_node, entry.masters}) {
    if (scope && scope->core.size() > 0) GRAPNEL_TRY(runtime_->release(scope->core));
  }
  free_comm(entry.comm);
  const base::MutexLock guard(mutex_);
  const unsigned generation = entry.generation + 1;
  entry = GroupEntry{};
  entry.generation = generation;
  free_.push_back(handle.id);
  if (default_.id == handle.id) default_ = world_handle();
  return {};
}

}  // namespace grapnel::armci
