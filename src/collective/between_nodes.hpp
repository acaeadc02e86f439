// A collective's part between nodes: one rank of each node, its speaker, sends and receives for it; and all-to-all. A
// message from GRAPNEL_COLLECTIVE_LONG_BYTES on is sent as long data (long_data.hpp), a shorter one by letters.
//
//   broadcast   binomial tree from the root's node, a piece at a time
//   join        little data (GRAPNEL_REDUCE_GATHER_BYTES): each node gets what all nodes bring, and joins it.
//               More: each node gets its part of what all bring, joins it, and the parts go to all; or to the root
//   allgather   each node's bytes to all: dissemination
//
// What the nodes bring is joined in the order of nodes, so the result has the same bits whichever way it was made.
//
// Cost, for M nodes: a node sends ⌈log2 M⌉ messages for little data and an allgather, M − 1 + ⌈log2 M⌉ for more. By
// letters each further 4 KiB is a message; long_data.hpp has the cost of long data. Memory: what the nodes bring, at
// most kMostAtOnce.
// Threads: of one rank one at a time.
// Source: Bruck et al., "Efficient algorithms for all-to-all communications", 1997; R. Thakur et al., "Optimization of
// collective communication operations in MPICH", 2005.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "collective/long_data.hpp"
#include "collective/speakers.hpp"
#include "exchange/letters.hpp"
#include "grapnel/reduction.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"

namespace grapnel::collective {

class BetweenNodes {
 public:
  /// What a call gathers at a time; longer ones go in several turns.
  static constexpr std::size_t kMostAtOnce = 16 * base::kMiB;

  BetweenNodes(launch::Launch& launch, exchange::Letters& letters, LongData& long_data, std::uint64_t gather_bytes)
      : launch_(launch), letters_(letters), long_data_(long_data), gather_bytes_(gather_bytes) {}

  /// Errors of all: peer_dead, no_memory (for the rooms of long data).
  Status broadcast(Speakers& all, ByteSpan data, std::size_t root);
  /// `data`: `count` elements of this node, which become those of all nodes joined; at the speaker `receiver`, or at
  /// all. Elsewhere they are changed.
  Status join(Speakers& all, const Reduction& reduction, std::byte* data, std::size_t count,
              std::optional<std::size_t> receiver);
  /// `blocks[i]`: the bytes of node i, of which this node has its own. All have the same lengths in all nodes.
  Status allgather(Speakers& all, std::vector<ByteSpan>& blocks);

  /// `out[i]` to the member at place i, from it `in[i]`; nothing is done for `me`, the caller's place. Members of the
  /// own node, too.
  Status alltoall(const Speakers& all, std::span<const Rank> members, std::size_t me, std::span<const ByteView> out,
                  std::span<const ByteSpan> in);

 private:
  /// The bytes of a message in this rank's memory, one run after the other.
  struct Message {
    Rank other{};
    std::vector<ByteSpan> runs;
    std::size_t bytes() const;
  };
  // One message for the same step at both ends. The job ends where the other one called something else, or the lengths
  // differ. `send` and `receive`: by letters; `exchange` by the way of each length, both at once, null: none.
  Status send(const Speakers& all, Rank to, std::uint32_t step, std::span<const ByteView> runs);
  Status send(const Speakers& all, Rank to, std::uint32_t step, ByteView content) {
    return send(all, to, step, std::span(&content, 1));
  }
  Status receive(const Speakers& all, Rank from, std::uint32_t step, std::span<const ByteSpan> runs);
  Status receive(const Speakers& all, Rank from, std::uint32_t step, ByteSpan content) {
    return receive(all, from, step, std::span(&content, 1));
  }
  Status exchange(const Speakers& all, std::uint32_t step, const Message* out, const Message* in);
  Status broadcast_long(Speakers& all, ByteSpan data, std::size_t root);
  Status join_gathered(Speakers& all, const Reduction& reduction, std::byte* data, std::size_t count,
                       std::optional<std::size_t> receiver);
  Status join_in_parts(Speakers& all, const Reduction& reduction, std::byte* data, std::size_t count,
                       std::optional<std::size_t> receiver);
  /// `parts`: what this node has for each node. Its own becomes what all have for it, joined.
  Status join_my_part(Speakers& all, const Reduction& reduction, const std::vector<ByteSpan>& parts);
  /// `mine` becomes what all nodes have for it, joined; `part_of(node)` waits for what another node has.
  template <typename PartOf>
  Status join_in_order(const Speakers& all, const Reduction& reduction, ByteSpan mine, PartOf part_of);
  Status gather_to(Speakers& all, std::vector<ByteSpan>& blocks, std::size_t root);

  launch::Launch& launch_;
  exchange::Letters& letters_;
  LongData& long_data_;
  const std::uint64_t gather_bytes_;
};

}  // namespace grapnel::collective
