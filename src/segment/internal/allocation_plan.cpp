// SPDX-License-Identifier: Apache-2.0
#include "segment/internal/allocation_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/units.hpp"

namespace grapnel::segment {
namespace {

// Parts begin at pages, so that each page lies in the memory of the processor of the rank that it belongs to.
constexpr std::size_t kPageBytes = 4 * base::kKiB;
// More than any address space has, and little enough that the parts of a job can be summed in 64 bits.
constexpr std::size_t kMaxPartBytes = std::size_t{1} << 47;

Status check_sizes(const launch::Group& group, const std::vector<PartRequest>& requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].bytes <= kMaxPartBytes) continue;
    return Status(Code::invalid_argument, fmt::format("rank {} asks for {} bytes; at most {} can be addressed",
                                                      index(group.members[i]), requests[i].bytes, kMaxPartBytes));
  }
  return {};
}

AllocationPlan lay_out(const launch::Group& group, const launch::NodeMap& nodes,
                       const std::vector<PartRequest>& requests) {
  AllocationPlan plan;
  std::map<NodeId, std::size_t> known;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const NodeId node = nodes.node_of[index(group.members[i])];
    const auto [place, is_new] = known.emplace(node, plan.shares.size());
    if (is_new) plan.shares.push_back({node, i, 0});
    NodeShare& share = plan.shares[place->second];
    plan.share_of.push_back(place->second);
    plan.offset_of.push_back(share.bytes);
    plan.bytes_of.push_back(requests[i].bytes);
    share.bytes += base::round_up(requests[i].bytes, kPageBytes);
  }
  return plan;
}

// Nodes of one machine draw on the same memory: each alone might fit where all together do not.
Status check_machines(const AllocationPlan& plan, const launch::Group& group, const launch::NodeMap& nodes,
                      const std::vector<PartRequest>& requests) {
  struct Machine {
    std::size_t first_member;
    std::size_t bytes;
    const os::MemoryLimit* limit;
  };
  std::map<std::string, Machine> machines;
  for (const NodeShare& share : plan.shares) {
    const os::MemoryLimit& limit = requests[share.first].limit;
    const auto [found, is_new] =
        machines.emplace(nodes.machine_of[index(share.node)], Machine{share.first, share.bytes, &limit});
    if (is_new) continue;
    found->second.bytes += share.bytes;
    if (limit.available_bytes < found->second.limit->available_bytes) found->second.limit = &limit;
  }
  const Machine* refused = nullptr;
  Status why;
  for (const auto& [name, machine] : machines) {
    if (machine.bytes == 0 || (refused != nullptr && refused->first_member < machine.first_member)) continue;
    Status status = os::check_memory_limit(machine.bytes, *machine.limit);
    if (status.ok()) continue;
    refused = &machine;
    why = std::move(status);
  }
  if (refused == nullptr) return {};
  return Status(why.code(), fmt::format("on the machine of rank {}: {}", index(group.members[refused->first_member]),
                                        why.message()));
}

}  // namespace

Result<AllocationPlan> plan_allocation(const launch::Group& group, const launch::NodeMap& nodes,
                                       const std::vector<PartRequest>& requests) {
  GRAPNEL_TRY(check_sizes(group, requests));
  AllocationPlan plan = lay_out(group, nodes, requests);
  GRAPNEL_TRY(check_machines(plan, group, nodes, requests));
  return plan;
}

}  // namespace grapnel::segment
