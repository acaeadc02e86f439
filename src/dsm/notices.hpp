// What ranks send about writes when they synchronize: a clock, and intervals with the pages that they name.
//
//   grant    := version clock count interval…          what a lock's releaser leaves for the next holder
//   meeting  := first second entry…                    what a barrier joins: the number of the barrier as the lowest
//                                                      and as another rank gave it; an entry per node
//   entry    := node latest flags bytes interval… bytes move…   of the node's ranks, since the last barrier; flags:
//                                                      1 complete, 2 wants cleaning
//   interval := number runs (gap, count)…              runs of pages: the gap to the end of the one before
//   move     := gap count node                         a run of pages that leave the node, and their new home
//
// All are varints (base/varint.hpp). What does not fit is left out: a reader that lacks an interval asks its node.
//
// Source: treadmarks-on-gm, section 2.2 (intervals and write notices).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "grapnel/lock.hpp"
#include "grapnel/types.hpp"
#include "os/page_trap.hpp"

namespace grapnel::dsm {

/// The pages that one rank of a node may have written before one release.
struct Interval {
  std::uint64_t number = 0;  ///< of its node, from 1 on
  std::vector<os::Pages> runs;
};

inline std::size_t pages_of(const Interval& interval) {
  std::size_t pages = 0;
  for (const os::Pages& run : interval.runs) pages += run.count;
  return pages;
}

/// By node: how many of its intervals are known.
using Clock = std::vector<std::uint64_t>;

struct Grant {
  Clock clock;
  std::vector<Interval> intervals;  ///< of the releaser's node, newest first
};

/// The longest grant: what a lock carries, less the byte that names the releaser's node.
inline constexpr std::size_t kMostGrantBytes = kMostLockPayload - 1;
/// More nodes than this have clocks that might not fit.
inline constexpr std::size_t kMostNodes = 40;

/// As many of the intervals, in their order, as fit.
Bytes encode(const Grant& grant);
/// Nothing where it is no grant of a job of `nodes` nodes and a heap of `pages` pages.
std::optional<Grant> decode_grant(ByteView in, std::size_t nodes, std::size_t pages);

/// Of all nodes' moves in a barrier; each has its share, so that none is left out.
inline constexpr std::size_t kMostMovesBytes = 1024;

/// Pages whose home moves from one node to another.
struct Move {
  os::Pages pages;
  std::size_t from = 0, to = 0;
};
/// As many of the runs, which ascend, as fit into `most` bytes.
Bytes encode(const std::vector<Move>& moves, std::size_t most);

/// A node in a barrier.
struct NodeNews {
  std::uint64_t latest = 0;     ///< interval
  bool complete = true;         ///< all intervals since the last barrier are here
  bool wants_cleaning = false;  ///< Protocol::wants_cleaning
  std::vector<Interval> intervals;
  Bytes moves = {};  ///< that it proposes, encoded
};

/// The number that a rank gave a barrier.
struct Numbered {
  std::uint64_t rank = 0, number = 0;
};

struct Meeting {
  Numbered first, other;  ///< of the lowest rank; of one that gave another number, or the same again
  std::map<std::uint64_t, NodeNews> nodes;

  bool wants_cleaning() const {
    return std::any_of(nodes.begin(), nodes.end(), [](const auto& one) { return one.second.wants_cleaning; });
  }
  std::vector<Move> moves;  ///< ascending; no page twice
};

/// What one rank brings. What is too much is left out, and the node is not complete.
Bytes encode(const Numbered& mine, std::uint64_t node, const NodeNews& news);
std::optional<Meeting> decode_meeting(ByteView in, std::size_t nodes, std::size_t pages);
/// Joins what two brought (sync::Combine). Where it would grow too long, the longest node is not complete any more.
void join_meetings(Bytes& into, ByteView from);

}  // namespace grapnel::dsm
