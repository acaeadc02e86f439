// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "grapnel/group.hpp"
#include "launch/group.hpp"

namespace grapnel {

std::span<const Rank> Group::members() const {
  return known_ ? std::span<const Rank>(known_->members) : std::span<const Rank>();
}

int Group::index_of(Rank rank) const {
  const auto all = members();
  const auto found = std::lower_bound(all.begin(), all.end(), rank);
  return found != all.end() && *found == rank ? static_cast<int>(found - all.begin()) : -1;
}

}  // namespace grapnel
