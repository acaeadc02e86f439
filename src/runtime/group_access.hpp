// What is inside a public Group: the group as the layers below know it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "grapnel/group.hpp"
#include "launch/group.hpp"

namespace grapnel {

struct Group::Contents {
  launch::Group group;
};

struct GroupAccess {
  static Group wrap(launch::Group group);
  /// Null for the group without members.
  static const launch::Group* of(const Group& group) { return group.contents_ ? &group.contents_->group : nullptr; }
  /// The same, kept alive by what is returned.
  static std::shared_ptr<const launch::Group> shared(const Group& group) { return {group.contents_, of(group)}; }
};

}  // namespace grapnel
