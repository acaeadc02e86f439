// A group: a set of ranks that act together.
//
// Made by `Runtime::make_group` without any communication: every member names the same ranks, and collective calls of
// one group are matched by their order. Groups may overlap; a rank may be in any number of them.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "grapnel/export.hpp"
#include "grapnel/types.hpp"

namespace grapnel {

namespace launch {
struct Group;
}

/// Immutable, cheap to copy. Two groups of the same ranks are the same group.
class GRAPNEL_API Group {
 public:
  /// Without members. No call takes it.
  Group() = default;

  /// Ascending by rank.
  std::span<const Rank> members() const;
  int size() const { return static_cast<int>(members().size()); }
  bool contains(Rank rank) const { return index_of(rank) >= 0; }
  /// A member's place in `members`, or −1. Cost: a search by the number of members' logarithm.
  int index_of(Rank rank) const;

  /// For the library's own layers: the group as they know it. A program has no use for it.
  explicit Group(std::shared_ptr<const launch::Group> known) : known_(std::move(known)) {}
  /// Null for the group without members.
  const std::shared_ptr<const launch::Group>& known() const { return known_; }

 private:
  std::shared_ptr<const launch::Group> known_;
};

}  // namespace grapnel
