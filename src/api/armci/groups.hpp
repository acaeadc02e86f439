// Groups as ARMCI has them: handles that are copied, members in the order of the caller's list, a communicator each.
//
// The core's groups ascend; this one remembers the caller's order and translates. A handle names an entry and its
// generation, so that a freed one differs from the entry's next user. Entry 0 is the world.
//
// Threads: collective calls one at a time, look-ups from any thread. An entry stays where it is until `clear`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "api/armci/define.hpp"
#include "base/mutex.hpp"
#include "grapnel/runtime.hpp"

namespace grapnel::armci {

/// A communicator of the front end's own, which returns errors. Collective.
Result<MPI_Comm> duplicate(MPI_Comm comm);
/// Leaves MPI_COMM_NULL, which may stand there before, too. Collective.
void free_comm(MPI_Comm& comm);

/// Some members of a group, as the core knows them.
struct Scope {
  Group core;  ///< without members where I am none of them
  Rank first;  ///< in the order of the group that they are of
};

struct GroupEntry {
  std::vector<int> members;               ///< ranks of the world, in the group's order
  int my_index = -1;                      ///< among `members`; -1: not a member
  MPI_Comm comm = MPI_COMM_NULL;          ///< in the group's order; null where I am not a member
  Group core;                             ///< only where I am a member
  std::optional<Scope> on_node, masters;  ///< made when first needed
  unsigned generation = 1;
  unsigned serial = 0;  ///< of the creation; members of two groups made them in the same order
  bool live = false;

  int size() const { return static_cast<int>(members.size()); }
  bool has_me() const { return my_index >= 0; }
};

class Groups {
 public:
  static constexpr int kWorld = 0;

  /// Collective. `comm` has the world's ranks; ARMCI makes communicators of its own from it, which return errors
  /// whatever the program has chosen for its own. `clear` frees them.
  Status open(Runtime& runtime, MPI_Comm comm);
  /// Collective over the world: frees every communicator, the newest first.
  void clear();

  GroupEntry& world() { return *world_; }
  MPI_Comm world_comm() const { return world_->comm; }
  /// The entry of a handle. Errors: null, freed, never made.
  Result<GroupEntry*> find(const ARMCI_Group* handle);
  /// The same, and the caller is a member.
  Result<GroupEntry*> find_mine(const ARMCI_Group* handle);
  /// `ranks` index `parent`'s members. Collective over the members.
  Result<ARMCI_Group> create(const GroupEntry& parent, const int* ranks, int count);
  Status free(const ARMCI_Group& handle);

  ARMCI_Group world_handle() const { return {world_->comm, kWorld, world_->generation}; }
  ARMCI_Group default_group() const { return default_; }
  void set_default(const ARMCI_Group& group) { default_ = group; }

 private:
  Result<MPI_Comm> create_comm(const std::vector<int>& members) const;
  GroupEntry& add_entry();
  GroupEntry& take_entry(int& id);

  Runtime* runtime_ = nullptr;
  /// Of the world: all others are made from it, and no message of the program uses it.
  MPI_Comm parent_ = MPI_COMM_NULL;
  base::Mutex mutex_;  ///< of the table: which entries there are, and which of them live
  std::deque<GroupEntry> entries_ GRAPNEL_GUARDED_BY(mutex_);
  GroupEntry* world_ = nullptr;
  std::vector<int> free_ GRAPNEL_GUARDED_BY(mutex_);
  unsigned next_serial_ GRAPNEL_GUARDED_BY(mutex_) = 0;
  ARMCI_Group default_{};
};

}  // namespace grapnel::armci
