// An allgather of small values over any group of ranks: what allocation and the end of a job need, without the
// launcher.
//
//   gather      each member gives its value to the first member of its node                     (in the node)
//   spread      the first members of M nodes: in round k, node i gives what it has, nodes i … i + 2^k − 1 of the
//               group (less at the end), to node i − 2^k                                        ⌈log2 M⌉ messages each
//   broadcast   each first member gives everything to the others of its node                    (in the node)
//
// Calls of one group are matched by their order, calls of different groups by the group's key: groups may be disjoint
// or overlap, and each rank may take them in its own order where no two wait for each other.
//
// Cost: ⌈log2 M⌉ messages per node between nodes (more where a message is longer than 4 KiB), and two letters per rank
// in the node. Memory: 16 bytes and a map's node per group that ever exchanged.
// Threads: collective calls, one at a time per rank.
// Source: Bruck et al., "Efficient algorithms for all-to-all communications", 1997 (the concatenation, for `spread`).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "exchange/exchange.hpp"
#include "exchange/letters.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"

namespace grapnel::exchange {

class GroupExchange final : public Exchange {
 public:
  GroupExchange(launch::Launch& launch, Letters& letters) : launch_(launch), letters_(letters) {}

  Result<std::vector<Bytes>> allgather(const launch::Group& group, ByteView mine) override;

 private:
  struct Call;

  Status gather(Call& call);
  Status spread(Call& call);
  Status broadcast(Call& call);

  launch::Launch& launch_;
  Letters& letters_;
  std::map<std::uint64_t, std::uint64_t> next_sequence_;  ///< by group key
};

}  // namespace grapnel::exchange
