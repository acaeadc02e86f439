// A collective's part among the ranks of a node, by phases (node_words.hpp).
//
//   reduce     each shows its elements; those that want the result join all, in the order of members. Where that would
//              be much (GRAPNEL_REDUCE_FLAT_BYTES) and more than two are there, each joins a part of them, and shows
//              it in a phase of its own
//   broadcast  one shows, all others read
//   gather     each shows its bytes; those that want them read all
//
// Longer data goes in pieces of a post, a phase each. Alone on its node a rank takes no phase.
//
// Threads: of one rank one at a time. All members on the node make the same calls in the same order. Errors of all:
// peer_dead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "collective/call.hpp"
#include "collective/node_words.hpp"
#include "grapnel/reduction.hpp"
#include "grapnel/status.hpp"

namespace grapnel::collective {

class NodePart {
 public:
  NodePart(NodeWords& words, std::uint64_t flat_bytes) : words_(words), flat_bytes_(flat_bytes) {}

  /// The elements of all members on this node, joined, at `destination` of the member at place `receiver`, or of all.
  /// `destination` is read in those alone, and may be `source`.
  Status reduce(NodeMembership& mine, const Call& call, const Reduction& reduction, const void* source,
                void* destination, std::size_t count, std::optional<std::uint32_t> receiver);

  /// The bytes of the member at place `from` to all others.
  Status broadcast(NodeMembership& mine, const Call& call, ByteSpan data, std::uint32_t from);

  /// `bytes` of each member: those of the member at place i are put to `destinations[i]`, in the member at place
  /// `receiver`, or in all.
  Status gather(NodeMembership& mine, const Call& call, const void* source, std::size_t bytes,
                std::span<std::byte* const> destinations, std::optional<std::uint32_t> receiver);

 private:
  struct Piece {
    const Reduction& reduction;
    const std::byte* source;
    std::byte* destination;
    std::size_t count;
    bool wanted;  ///< here
  };
  Status reduce_flat(NodeMembership& mine, const Call& call, const Piece& piece);
  Status reduce_in_parts(NodeMembership& mine, const Call& call, const Piece& piece);
  Status show_elements(NodeMembership& mine, const Call& call, const Piece& piece);
  void join_all(const NodeMembership& mine, const Call& call, std::uint64_t phase, const Piece& piece,
                std::size_t first, std::size_t count, std::byte* into);

  NodeWords& words_;
  const std::uint64_t flat_bytes_;
};

}  // namespace grapnel::collective
