// A set of ranks that act together, and the one collective that start-up and allocation need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel::launch {

/// Immutable. Every member holds the same list; `key` is a hash of it, so members name the group in the same way
/// without asking.
struct Group {
  std::vector<Rank> members;  ///< ascending
  std::size_t my_index = 0;   ///< my place in `members`; of a group that was received, `size()`
  std::uint64_t key = 0;

  std::size_t size() const { return members.size(); }
  bool contains(Rank rank) const { return index_of(rank) < size(); }
  /// The place of `rank` in `members`; `size()` where it is no member. Cost: a binary search.
  std::size_t index_of(Rank rank) const;
};

/// Errors: invalid_argument when `me` is not among the members, a rank appears twice or lies outside 0…job_size−1.
Result<Group> make_group(std::vector<Rank> members, Rank me, int job_size);
Group make_world(Rank me, int job_size);

/// The members for a message: a bit per rank of the job. `group_of_bits` makes the group of them without a place for
/// the receiver, and nothing where the bits are not those of a job of that size, or none is set.
Bytes member_bits(const Group& group, int job_size);
std::optional<Group> group_of_bits(ByteView bits, int job_size);

}  // namespace grapnel::launch
