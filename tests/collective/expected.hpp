// What collectives should give, computed by one rank alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <map>
#include <vector>

#include "grapnel/runtime.hpp"
#include "harness/world.hpp"

namespace grapnel::test {

/// The `round`-th bytes of a rank.
inline Bytes bytes_of(Rank rank, std::uint64_t round, std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(pattern(rank, round, i / 8) >> (8 * (i % 8)));
  return bytes;
}

/// Numbers whose sum depends on the order in which they are added.
inline std::vector<double> numbers_of(Rank rank, std::uint64_t round, std::size_t count) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = pattern(rank, round, i);
    numbers[i] = static_cast<double>(static_cast<std::int64_t>(bits)) * (bits % 3 == 0 ? 1e-12 : 1.0);
  }
  return numbers;
}

/// Joined as the interface promises: ascending by rank in each node, then by node.
inline Bytes joined_by(Runtime& g, const Group& group, const Reduction& reduction,
                       const std::vector<Bytes>& of_members) {
  std::map<NodeId, Bytes> by_node;
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < of_members.size(); ++i) {
    Bytes mine = of_members[i];
    const std::size_t count = mine.size() / reduction.element_bytes;
    if (reduction.prepare != nullptr) reduction.prepare(mine.data(), count);
    const NodeId node = g.node_of(group.members()[i]);
    const auto [found, is_new] = by_node.emplace(node, mine);
    if (is_new) nodes.push_back(node);
    if (!is_new) reduction.join(found->second.data(), mine.data(), count);
  }
  Bytes result = by_node[nodes.front()];
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    reduction.join(result.data(), by_node[nodes[i]].data(), result.size() / reduction.element_bytes);
  }
  return result;
}

/// The group of the ranks for which `is_member` holds; without members where the caller is none.
template <typename IsMember>
Group group_where(const Runtime& g, IsMember is_member) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < g.size(); ++rank) {
    if (is_member(Rank{rank})) ranks.push_back(Rank{rank});
  }
  return is_member(g.rank()) ? *g.make_group(ranks) : Group();
}

/// In the same order in all ranks: all, each alone, every other one twice, all but the first, the upper half, the ends.
inline std::vector<Group> groups_of(const Runtime& g) {
  const auto size = static_cast<std::size_t>(g.size());
  return {g.world(),
          group_where(g, [&](Rank rank) { return rank == g.rank(); }),
          group_where(g, [](Rank rank) { return index(rank) % 2 == 0; }),
          group_where(g, [](Rank rank) { return index(rank) % 2 == 1; }),
          group_where(g, [](Rank rank) { return index(rank) > 0; }),
          group_where(g, [&](Rank rank) { return 2 * index(rank) >= size; }),
          group_where(g, [&](Rank rank) { return index(rank) == 0 || index(rank) + 1 == size; })};
}

/// Rank `root` of the group, which the round names, broadcasts; all compare.
inline void broadcast_and_compare(Runtime& g, const Group& group, std::uint64_t round, std::size_t bytes) {
  const auto members = group.members();
  const Rank root = members[round % members.size()];
  const Bytes wanted = bytes_of(root, round, bytes);
  Bytes data = g.rank() == root ? wanted : Bytes(bytes);
  ASSERT_OK(g.broadcast(group, data.data(), bytes, root));
  ASSERT_EQ(data, wanted) << bytes << " bytes from " << index(root);
}

inline void gather_and_compare(Runtime& g, const Group& group, std::uint64_t round, std::size_t bytes) {
  Bytes wanted;
  for (const Rank member : group.members()) {
    const Bytes one = bytes_of(member, round, bytes);
    wanted.insert(wanted.end(), one.begin(), one.end());
  }
  Bytes gathered(wanted.size());
  const Bytes mine = bytes_of(g.rank(), round, bytes);
  ASSERT_OK(g.allgather(group, mine.data(), gathered.data(), bytes));
  ASSERT_EQ(gathered, wanted) << bytes;
}

}  // namespace grapnel::test
