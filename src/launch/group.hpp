// A set of ranks that act together, and the one collective that start-up and allocation need.
#pragma once

#include <cstdint>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel::launch {

/// Immutable. Every member holds the same list; `key` is a hash of it, so members name the group alike without asking.
struct Group {
  std::vector<Rank> members;  ///< ascending
  std::size_t my_index = 0;   ///< my place in `members`
  std::uint64_t key = 0;

  std::size_t size() const { return members.size(); }
  bool contains(Rank rank) const;
};

/// Errors: invalid_argument when `me` is not among the members, a rank stands twice or lies outside 0…job_size−1.
Result<Group> make_group(std::vector<Rank> members, Rank me, int job_size);
Group make_world(Rank me, int job_size);

}  // namespace grapnel::launch
