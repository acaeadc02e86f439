// How a group lies on the nodes, as its collectives see it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/check.hpp"

namespace grapnel::collective {

/// A place: a member's number in the group.
struct GroupNodes {
  std::vector<std::vector<std::size_t>> members_of;  ///< by the group's nodes: places, ascending
  std::size_t my_node = 0;                           ///< which of those nodes
  std::vector<std::size_t> node_of;                  ///< by place: which of them
  std::vector<std::size_t> by_node;                  ///< places, in the order of nodes

  bool several_nodes() const { return members_of.size() > 1; }
  const std::vector<std::size_t>& neighbours() const { return members_of[my_node]; }
  /// The place of the member that sends and receives for the node: the root, else the node's first.
  std::size_t speaker_of(std::size_t node, std::optional<std::size_t> root) const {
    GRAPNEL_ASSERT(node < members_of.size() && !members_of[node].empty(), "node {} of {} has no member", node,
                   members_of.size());
    return root && node_of[*root] == node ? *root : members_of[node].front();
  }
};

}  // namespace grapnel::collective
