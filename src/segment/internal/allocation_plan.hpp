// What every member of a group works out in the same way from all requests: the places of the parts, and whether there
// is room.
//
// A pure function of what was exchanged, so all members come to the same plan or the same refusal without asking again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grapnel/status.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::segment {

/// What a member brings along.
struct PartRequest {
  std::size_t bytes = 0;
  os::MemoryLimit limit;  ///< read before anybody took anything; only that of a node's first member counts
};

/// A node's range: the parts of its members one behind the other, each at a page.
struct NodeShare {
  NodeId node{};
  std::size_t first = 0;  ///< group index of the node's lowest member, which claims the range and gives it back
  std::size_t bytes = 0;  ///< of the range; 0: there is none
};

struct AllocationPlan {
  std::vector<std::size_t> share_of;   ///< by group index: which of `shares`
  std::vector<std::size_t> offset_of;  ///< by group index: where its part begins in its node's range
  std::vector<std::size_t> bytes_of;   ///< by group index: what it asked for
  std::vector<NodeShare> shares;       ///< in the order of their first members
};

/// `requests` by group index. Errors: no_memory where a machine has less than its nodes' members ask for in sum
/// (several nodes may share one machine), invalid_argument where a size makes no sense.
Result<AllocationPlan> plan_allocation(const launch::Group& group, const launch::NodeMap& nodes,
                                       const std::vector<PartRequest>& requests);

}  // namespace grapnel::segment
