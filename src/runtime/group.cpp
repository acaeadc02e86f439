// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "grapnel/group.hpp"
#include "runtime/group_access.hpp"

namespace grapnel {

std::span<const Rank> Group::members() const {
  return contents_ ? std::span<const Rank>(contents_->group.members) : std::span<const Rank>();
}

int Group::index_of(Rank rank) const {
  const auto all = members();
  const auto found = std::lower_bound(all.begin(), all.end(), rank);
  return found != all.end() && *found == rank ? static_cast<int>(found - all.begin()) : -1;
}

Group GroupAccess::wrap(launch::Group group) {
  Group wrapped;
  wrapped.contents_ = std::make_shared<Group::Contents>(Group::Contents{std::move(group)});
  return wrapped;
}

}  // namespace grapnel
