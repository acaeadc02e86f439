// Sender, receiver and content by round, as plain numbers, for any number of nodes: two circulant schedules and a tree.
//
// Dissemination. Node i keeps two sums over the nodes from itself on: `small` over m nodes, `large` over m+1. A round
// with digit b takes both to k·m+b and k·m+b+1 by laying k such runs end to end: b runs of m+1, then k−1−b of m, then a
// last one that is m long for the one sum and m+1 for the other. The digits are those of N−1 in base k, so the last
// `large` covers every node exactly once: the barrier is a reduction at the same time, exact for any N, in ⌈log_k N⌉
// rounds of at most k−1 messages. With k = 2 that is one message per round, ⌈log2 N⌉ in all; for powers of two the
// distances are 1, 2, 4, ….
//
//   N = 6, k = 2: N−1 = 101₂     round 0: b=1, from i+1      small 1 node,  large 2 nodes
//                                round 1: b=0, from i+1      small 2,       large 3   (own small, then theirs)
//                                round 2: b=1, from i+3      small 5,       large 6 = all
//
// Reduce-scatter. Every node has a number for every node; in the end each has the sum of those meant for it. A number
// for the node at distance o travels by the binary digits of o, the largest first: in the round of distance d a node
// sends what is for the distances d … 2d−1 to node i+d, which adds it to what it has for these nodes. ⌈log2 N⌉ messages
// and N−1 numbers per node for any N: no fold where N is no power of two.
//
// Gather. A tree: a node answers for a run of neighbours, itself the first, whose rest its children share as evenly as
// it goes; node 0 answers for all. What is for the nodes of a child's run is contiguous.
//
// Source: thesis, section 4.3 (two pairwise exchanges); here without its power of two and without whole vectors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace grapnel::sync {

struct DisseminationRound {
  /// What a node takes from the node `offset` behind it in the ring (i+offset): which of its two sums.
  struct Part {
    std::uint32_t offset = 0;
    bool small = false, large = false;
    bool last = false;  ///< the run that makes the difference between the new sums
  };
  bool own_large = false;  ///< the node's own run is its large sum, else its small one
  std::vector<Part> parts;
};

/// ⌈log_fanout(nodes)⌉ rounds; none for one node. `fanout` is 2 or more.
std::vector<DisseminationRound> dissemination(std::uint32_t nodes, std::uint32_t fanout);

/// Calls `round(messages)` for each round of that dissemination, in order: how many messages a node sends in it.
template <typename Round>
void for_each_round(std::uint32_t nodes, std::uint32_t fanout, Round round) {
  std::uint64_t place = 1;
  while (place * fanout < nodes) place *= fanout;
  std::uint64_t m = 0;
  for (; nodes > 1 && place > 0; place /= fanout) {
    const std::uint64_t b = (nodes - 1) / place % fanout;
    // Of the runs between the node's own and the last one, those of m = 0 nodes need no message.
    round(static_cast<std::uint32_t>(m > 0 ? fanout - 1 : std::max<std::uint64_t>(b, 1)));
    m = fanout * m + b;
  }
}

/// The distances of a reduce-scatter's rounds, the largest first: in the round of distance d, offsets d … min(2d, N)−1
/// go to node i+d.
std::vector<std::uint32_t> reduce_scatter(std::uint32_t nodes);

/// Nodes `first` to `end`−1; `first` answers for them.
struct Run {
  std::uint32_t first = 0, end = 1;
};

struct GatherPlace {
  bool root = true;
  std::uint32_t parent = 0;
  Run mine;
  std::vector<Run> children;
};

/// Children of a node at most: up to 9 nodes are one level.
inline constexpr std::uint32_t kGatherFanout = 8;

GatherPlace gather_place(std::uint32_t nodes, std::uint32_t me);

/// From the root to the node that is farthest from it.
std::uint32_t levels_of_gather(std::uint32_t nodes);

}  // namespace grapnel::sync
