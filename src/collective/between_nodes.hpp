// A collective's part between nodes: one rank of each node, its speaker, sends and receives letters.
//
//   broadcast   binomial tree from the root's node, a piece at a time
//   join        little data (GRAPNEL_REDUCE_GATHER_BYTES): each node gets what all nodes bring, and joins it.
//               More: each node gets its part of what all bring, joins it, and the parts go to all; or to the root
//   allgather   each node's bytes to all: dissemination
//
// What the nodes bring is joined in the order of nodes, so the result has the same bits whichever way it was made.
//
// Cost, for M nodes: per node ⌈log2 M⌉ messages for little data and an allgather, M − 1 + ⌈log2 M⌉ for more (and one
// for each further 4 KiB of a message). Memory: what the nodes bring, kMostAtOnce at most.
// Threads: of one rank one at a time.
// Source: Bruck et al., "Efficient algorithms for all-to-all communications", 1997; R. Thakur et al., "Optimization of
// collective communication operations in MPICH", 2005.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "collective/call.hpp"
#include "exchange/letters.hpp"
#include "grapnel/reduction.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"

namespace grapnel::collective {

/// One call, as the speaker of a node sees it.
struct Speakers {
  Call call;
  std::uint64_t group = 0;     ///< key
  std::uint64_t sequence = 0;  ///< which of the group's calls
  std::vector<Rank> ranks;     ///< one of each of the group's nodes, in the order of nodes
  std::size_t me = 0;          ///< my place among them
  std::uint32_t step = 0;      ///< the next one; the same in all

  std::size_t size() const { return ranks.size(); }
};

class BetweenNodes {
 public:
  /// What a call gathers at a time; longer ones go in several turns.
  static constexpr std::size_t kMostAtOnce = 16 * base::kMiB;

  BetweenNodes(launch::Launch& launch, exchange::Letters& letters, std::uint64_t gather_bytes)
      : launch_(launch), letters_(letters), gather_bytes_(gather_bytes) {}

  /// Errors of all: peer_dead.
  Status broadcast(Speakers& all, ByteSpan data, std::size_t root);
  /// `data`: `count` elements of this node, which become those of all nodes joined; at the speaker `receiver`, or at
  /// all. Elsewhere they are changed.
  Status join(Speakers& all, const Reduction& reduction, std::byte* data, std::size_t count,
              std::optional<std::size_t> receiver);
  /// `blocks[i]`: the bytes of node i, of which this node has its own. All have the same lengths in all nodes.
  Status allgather(Speakers& all, std::vector<ByteSpan>& blocks);

  /// One message for the same step at both ends. Errors: peer_dead.
  Status send(const Speakers& all, Rank to, std::uint32_t step, ByteView content);
  /// The bytes that `from` sent; the job ends where it called something else, or sent another length than `bytes`.
  Status receive(const Speakers& all, Rank from, std::uint32_t step, ByteSpan content);

 private:
  Status join_gathered(Speakers& all, const Reduction& reduction, std::byte* data, std::size_t count,
                       std::optional<std::size_t> receiver);
  Status join_in_parts(Speakers& all, const Reduction& reduction, std::byte* data, std::size_t count,
                       std::optional<std::size_t> receiver);
  Status gather_to(Speakers& all, std::vector<ByteSpan>& blocks, std::size_t root);

  launch::Launch& launch_;
  exchange::Letters& letters_;
  const std::uint64_t gather_bytes_;
};

}  // namespace grapnel::collective
