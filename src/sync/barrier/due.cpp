// Which messages a node can be sent for a barrier of a group it knows, whatever the plan: from which node, in which
// round, of which length. All else is refused before a meeting keeps it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sync/barrier/instance.hpp"

namespace grapnel::sync {
namespace {

bool in_dissemination(const BarrierMembers& roster, const BarrierBody& body) {
  if (body.round >= roster.rounds.size()) return false;
  const auto& parts = roster.rounds[body.round].parts;
  return std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
    return (roster.me + part.offset) % roster.size() == body.from &&
           (part.small || (body.small_bytes == 0));  // its payload would be taken for the small sum's
  });
}

// 0: no place in the tree.
std::size_t numbers_in_gather(const BarrierMembers& roster, const BarrierBody& body) {
  const GatherPlace& place = roster.gather;
  const bool child =
      std::any_of(place.children.begin(), place.children.end(), [&](const Run& run) { return run.first == body.from; });
  if (body.round == 0 && child) return roster.size();
  return body.round == 1 && !place.root && body.from == place.parent ? place.mine.end - place.mine.first : 0;
}

bool in_counts(const BarrierMembers& roster, const BarrierBody& body, std::size_t numbers) {
  if (body.round == 0 && numbers == 1) return true;  // sent by all
  if (numbers != 0 && numbers == numbers_in_gather(roster, body)) return true;
  if (body.round >= roster.distances.size()) return false;
  std::size_t kept = roster.size();
  for (std::uint8_t round = 0; round < body.round; ++round) kept = roster.distances[round];
  const std::uint32_t distance = roster.distances[body.round];
  return (roster.me + roster.size() - distance) % roster.size() == body.from && numbers == kept - distance;
}

}  // namespace

bool is_due(const BarrierMembers& roster, NodeId from, const BarrierBody& body, std::size_t payload_bytes) {
  if (body.from >= roster.size() || roster.nodes[body.from] != from || body.from == roster.me) return false;
  switch (body.stage) {
    case BarrierStage::first: return in_dissemination(roster, body);
    case BarrierStage::last: return in_dissemination(roster, body) || numbers_in_gather(roster, body) != 0;
    case BarrierStage::counts: return in_counts(roster, body, payload_bytes / sizeof(std::uint64_t));
    default: return false;
  }
}

}  // namespace grapnel::sync
