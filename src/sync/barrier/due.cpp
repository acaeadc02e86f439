// Which messages a node can be sent for a barrier of a group it knows, whatever the plan: from which node, in which
// round, of which length. All else is refused before an instance keeps it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sync/barrier/instance.hpp"

namespace grapnel::sync {
namespace {

bool in_dissemination(const BarrierMembers& members, const BarrierBody& body) {
  if (body.round >= members.rounds.size()) return false;
  const auto& parts = members.rounds[body.round].parts;
  return std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
    return (members.me + part.offset) % members.size() == body.from &&
           (part.small || (body.small_bytes == 0));  // its payload would be taken for the small sum's
  });
}

// 0: no place in the tree.
std::size_t numbers_in_gather(const BarrierMembers& members, const BarrierBody& body) {
  const GatherPlace& place = members.gather;
  const bool child =
      std::any_of(place.children.begin(), place.children.end(), [&](const Run& run) { return run.first == body.from; });
  if (body.round == 0 && child) return members.size();
  return body.round == 1 && !place.root && body.from == place.parent ? place.mine.end - place.mine.first : 0;
}

bool in_counts(const BarrierMembers& members, const BarrierBody& body, std::size_t numbers) {
  if (body.round == 0 && numbers == 1) return true;  // sent by all
  if (numbers != 0 && numbers == numbers_in_gather(members, body)) return true;
  if (body.round >= members.distances.size()) return false;
  std::size_t kept = members.size();
  for (std::uint8_t round = 0; round < body.round; ++round) kept = members.distances[round];
  const std::uint32_t distance = members.distances[body.round];
  return (members.me + members.size() - distance) % members.size() == body.from && numbers == kept - distance;
}

}  // namespace

bool is_due(const BarrierMembers& members, NodeId from, const BarrierBody& body, std::size_t payload_bytes) {
  if (body.from >= members.size() || members.nodes[body.from] != from || body.from == members.me) return false;
  switch (body.stage) {
    case BarrierStage::first: return in_dissemination(members, body);
    case BarrierStage::last: return in_dissemination(members, body) || numbers_in_gather(members, body) != 0;
    case BarrierStage::counts: return in_counts(members, body, payload_bytes / sizeof(std::uint64_t));
    default: return false;
  }
}

}  // namespace grapnel::sync
