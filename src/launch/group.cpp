// SPDX-License-Identifier: Apache-2.0
#include "launch/group.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/random.hpp"

namespace grapnel::launch {
namespace {

// Each member is mixed into all bits before the next one, so that lists that differ in little get far apart.
std::uint64_t key_of(const std::vector<Rank>& members) {
  std::uint64_t key = base::Random(members.size()).next();
  for (const Rank member : members) key = base::Random(key ^ index(member)).next();
  return key;
}

Group group_of(std::vector<Rank> members, std::size_t my_index) {
  const std::uint64_t key = key_of(members);
  return Group{std::move(members), my_index, key};
}

}  // namespace

std::size_t Group::index_of(Rank rank) const {
  const auto found = std::lower_bound(members.begin(), members.end(), rank);
  return found != members.end() && *found == rank ? static_cast<std::size_t>(found - members.begin()) : size();
}

Result<Group> make_group(std::vector<Rank> members, Rank me, int job_size) {
  std::sort(members.begin(), members.end());
  if (const auto twice = std::adjacent_find(members.begin(), members.end()); twice != members.end()) {
    return Status(Code::invalid_argument, fmt::format("rank {} stands twice in a group", index(*twice)));
  }
  for (const Rank member : members) {
    const auto number = static_cast<int>(member);
    if (number < 0 || number >= job_size) {
      return Status(Code::invalid_argument,
                    fmt::format("a group names rank {}; the job has the ranks 0 to {}", number, job_size - 1));
    }
  }
  Group group = group_of(std::move(members), 0);
  group.my_index = group.index_of(me);
  if (group.my_index < group.size()) return group;
  return Status(Code::invalid_argument,
                fmt::format("rank {} makes a group of {} ranks without itself", index(me), group.size()));
}

Group make_world(Rank me, int job_size) {
  GRAPNEL_CHECK(job_size > 0 && index(me) < static_cast<std::size_t>(job_size), "rank {} of {}", index(me), job_size);
  std::vector<Rank> members(static_cast<std::size_t>(job_size));
  std::generate(members.begin(), members.end(), [next = 0]() mutable { return Rank{next++}; });
  return group_of(std::move(members), index(me));
}

Bytes member_bits(const Group& group, int job_size) {
  Bytes bits((static_cast<std::size_t>(job_size) + 7) / 8);
  for (const Rank member : group.members) bits[index(member) / 8] |= std::byte{1} << (index(member) % 8);
  return bits;
}

std::optional<Group> group_of_bits(ByteView bits, int job_size) {
  if (bits.size() != (static_cast<std::size_t>(job_size) + 7) / 8) return std::nullopt;
  std::vector<Rank> members;
  for (std::size_t rank = 0; rank < 8 * bits.size(); ++rank) {
    if ((std::to_integer<unsigned>(bits[rank / 8]) >> (rank % 8) & 1) != 0)
      members.push_back(Rank(static_cast<int>(rank)));
  }
  if (members.empty() || static_cast<int>(members.back()) >= job_size) return std::nullopt;
  const std::size_t size = members.size();
  return group_of(std::move(members), size);
}

}  // namespace grapnel::launch
