// What one rank does in a collective that was started, as data: steps over memory of the call's own.
//
// A schedule is made when the call starts, and carried out step by step as messages come (started_call.hpp). All data
// goes from rank to rank, also in a node, because any number of calls may be under way:
//
//   broadcast   speakers: binomial tree from the root's node; each gives it to the others of its node
//   reduce      a node's members give theirs to their speaker, which joins them in the order of members; the speakers
//               then join as blocking calls do (between_nodes.hpp): little data gathered, more in parts
//   allreduce   the same, and each speaker gives the result to the others of its node
//   allgather   a node's members give theirs to their speaker; dissemination; each speaker gives all to its node
//   alltoall    each member to each other one
//
// Elements are joined in the order of the blocking calls, so the result has the same bits.
//
// Invariant: for each message that a member's schedule sends, the receiver's has a step that receives it, of the same
// phase, piece and length. Of two members, one sends the other's messages in the order in which it receives them.
// Cost: messages between nodes as in blocking calls. Memory: a copy of what a rank brings and gets, at its speaker of
// what its node brings one member at a time.
// Threads: any; pure functions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/group_nodes.hpp"

namespace grapnel::collective {

struct Step {
  enum class Kind : std::uint8_t { send, receive, join, copy };
  Kind kind = Kind::send;
  std::uint32_t name = 0;  ///< of a message: phase and piece
  std::size_t peer = 0;    ///< of a message: the other one's place
  std::size_t at = 0;      ///< in the call's memory: what is sent; where to receive, join or copy to
  std::size_t from = 0;    ///< of a join and a copy: the other operand
  std::size_t bytes = 0;
  std::size_t total = 0;  ///< of a message: the bytes of all its pieces, which both ends compare
};

/// A part of the result: from the call's memory to the caller's.
struct ResultPart {
  std::size_t at = 0;  ///< in the call's memory
  std::size_t to = 0;  ///< in the caller's
  std::size_t bytes = 0;
};

struct Schedule {
  std::vector<Step> steps;
  std::size_t memory_bytes = 0;
  std::size_t source_at = 0, source_bytes = 0;  ///< where the caller's source goes; 0 bytes: none is needed
  std::vector<ResultPart> results;
};

/// What a reduction joins.
struct Elements {
  std::size_t count = 0, bytes = 0;  ///< of one
  std::uint64_t gather_bytes = 0;    ///< up to so much from all nodes each node joins all (GRAPNEL_REDUCE_GATHER_BYTES)
};

// `me` and `root` are places.
Schedule broadcast_schedule(const GroupNodes& nodes, std::size_t me, std::size_t root, std::size_t bytes);
/// To the root, or to all.
Schedule reduce_schedule(const GroupNodes& nodes, std::size_t me, std::optional<std::size_t> root,
                         const Elements& elements);
Schedule allgather_schedule(const GroupNodes& nodes, std::size_t me, std::size_t bytes);
Schedule alltoall_schedule(std::size_t me, std::span<const std::size_t> send_bytes,
                           std::span<const std::size_t> receive_bytes);
/// Appends: no member gets past it before all have come to it. ⌈log2 members⌉ messages each.
void add_meeting(Schedule& schedule, std::size_t me, std::size_t members);

}  // namespace grapnel::collective
