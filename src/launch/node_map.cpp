// Ranks and nodes: machines by identity, each split into contiguous blocks of ranks; and the carving of node memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "base/units.hpp"
#include "launch/launch.hpp"

namespace grapnel::launch {
namespace {

using Block = std::vector<Rank>;

// The ranks of one machine in `parts` contiguous blocks; the first (n mod parts) are one larger.
std::vector<Block> split(const Block& ranks, std::size_t parts) {
  const std::size_t small = ranks.size() / parts;
  const std::size_t larger = ranks.size() % parts;
  std::vector<Block> blocks;
  auto next = ranks.begin();
  for (std::size_t part = 0; part < parts; ++part) {
    const auto end = next + static_cast<std::ptrdiff_t>(small + (part < larger ? 1 : 0));
    blocks.emplace_back(next, end);
    next = end;
  }
  return blocks;
}

}  // namespace

NodeMap make_node_map(const std::vector<std::string>& machine_of_rank, int virtual_nodes) {
  std::map<std::string, Block> ranks_on;
  for (std::size_t rank = 0; rank < machine_of_rank.size(); ++rank) {
    ranks_on[machine_of_rank[rank]].push_back(static_cast<Rank>(rank));
  }
  std::vector<Block> blocks;
  for (const auto& [machine, ranks] : ranks_on) {
    const auto wanted = static_cast<std::size_t>(std::max(virtual_nodes, 1));
    for (Block& block : split(ranks, std::min(wanted, ranks.size()))) blocks.push_back(std::move(block));
  }
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.front() < b.front(); });

  NodeMap map;
  map.node_of.resize(machine_of_rank.size());
  for (Block& block : blocks) {
    const auto node = static_cast<NodeId>(map.ranks_of.size());
    for (const Rank rank : block) map.node_of[index(rank)] = node;
    map.machine_of.push_back(machine_of_rank[index(block.front())]);
    map.ranks_of.push_back(std::move(block));
  }
  return map;
}

bool NodeMap::one_machine() const {
  return std::all_of(machine_of.begin(), machine_of.end(),
                     [&](const auto& machine) { return machine == machine_of[0]; });
}

std::size_t NodeMap::ranks_on_machine_of(NodeId node) const {
  std::size_t count = 0;
  for (std::size_t other = 0; other < node_count(); ++other) {
    if (machine_of[other] == machine_of[index(node)]) count += ranks_of[other].size();
  }
  return count;
}

std::vector<std::size_t> places_in_nodes(const NodeMap& nodes) {
  std::vector<std::size_t> places(nodes.node_of.size());
  for (const auto& ranks : nodes.ranks_of) {
    for (std::size_t i = 0; i < ranks.size(); ++i) places[index(ranks[i])] = i;
  }
  return places;
}

std::size_t NodeMemory::bytes_for(const NodeMap& nodes, NodeId node, std::span<const NodeMemoryNeed> needs) {
  std::size_t wanted = 64 * base::kKiB;
  // A layer carves in several pieces, each at a cache line of its own.
  for (const NodeMemoryNeed need : needs) wanted += need(nodes, node) + 16 * base::kCacheLineBytes;
  return base::round_up(wanted, std::size_t{4096});
}

void* NodeMemory::carve_bytes(std::size_t bytes) {
  const std::size_t rounded = base::round_up(bytes, base::kCacheLineBytes);
  GRAPNEL_CHECK(rounded >= bytes && rounded <= bytes_.size() - used_,
                "node memory is used up: {} bytes wanted, {} of {} in use", bytes, used_, bytes_.size());
  void* const part = bytes_.data() + used_;
  used_ += rounded;
  return part;
}

}  // namespace grapnel::launch
