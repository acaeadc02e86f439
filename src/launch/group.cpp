#include "launch/group.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/random.hpp"

namespace grapnel::launch {
namespace {

// Each member is mixed into all bits before the next one comes, so that lists that differ in little get far apart.
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

bool Group::contains(Rank rank) const { return std::binary_search(members.begin(), members.end(), rank); }

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
  const auto mine = std::lower_bound(members.begin(), members.end(), me);
  if (mine == members.end() || *mine != me) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} makes a group of {} ranks without itself", index(me), members.size()));
  }
  const auto my_index = static_cast<std::size_t>(mine - members.begin());
  return group_of(std::move(members), my_index);
}

Group make_world(Rank me, int job_size) {
  GRAPNEL_CHECK(job_size > 0 && index(me) < static_cast<std::size_t>(job_size), "rank {} of {}", index(me), job_size);
  std::vector<Rank> members(static_cast<std::size_t>(job_size));
  std::generate(members.begin(), members.end(), [next = 0]() mutable { return Rank{next++}; });
  return group_of(std::move(members), index(me));
}

}  // namespace grapnel::launch
