// How many writes each rank of a node has sent to each node's server, where the node's own server can read it.
//
// A barrier adds these up to know how many writes a server must have applied. Only *counted* writes are in it: a rank
// stops counting when it arrives at a barrier and resumes when it leaves the last one that is under way, so that the
// sums do not change until it ends. What it writes in between has no such mark and is not counted.
//
// Words (node memory): a row of 64-bit counts per local rank, one per node; each row has one writer, its rank.
// Threads: `add` under the client's guard; `counted` anywhere. Source: thesis, section 4.3 (op_init).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "launch/launch.hpp"

namespace grapnel::progress {

class WriteCounts {
 public:
  /// Collective in the order of carving.
  explicit WriteCounts(launch::Launch& launch)
      : launch_(launch),
        nodes_(launch.nodes().node_count()),
        rows_(launch.node_memory().carve<std::atomic<std::uint64_t>>(
            launch.nodes().ranks_of[index(launch.node())].size() * nodes_)),
        mine_(row_of(launch.rank())) {}

  /// By the calling rank, to the node.
  void add(NodeId node) {
    std::atomic<std::uint64_t>& count = rows_[mine_ * nodes_ + index(node)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// By a rank of this node, to a node. Ordered by the message or word from which the caller knows that the rank has
  /// arrived.
  std::uint64_t counted(Rank local, NodeId node) const {
    return rows_[row_of(local) * nodes_ + index(node)].load(std::memory_order_relaxed);
  }

 private:
  std::size_t row_of(Rank local) const {
    const auto& ranks = launch_.nodes().ranks_of[index(launch_.node())];
    std::size_t row = 0;
    while (ranks[row] != local) ++row;
    return row;
  }

  launch::Launch& launch_;
  const std::size_t nodes_;
  const std::span<std::atomic<std::uint64_t>> rows_;
  const std::size_t mine_;
};

}  // namespace grapnel::progress
