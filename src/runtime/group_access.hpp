// What is inside a public Group: the group as the layers below know it.
#pragma once

#include "grapnel/group.hpp"
#include "launch/group.hpp"

namespace grapnel {

struct Group::Contents {
  launch::Group group;
};

struct GroupAccess {
  static Group wrap(launch::Group group);
  /// Null for the group of nobody.
  static const launch::Group* of(const Group& group) { return group.contents_ ? &group.contents_->group : nullptr; }
};

}  // namespace grapnel
