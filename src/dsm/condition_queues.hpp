// The queues of conditions that a node keeps: which ranks wait, in the order in which they came.
//
//   last ──▶ behind ──▶ behind ──▶ … ──▶ last        a ring: the first rank is behind the last one
//
// A table in node memory, changed by the node's ranks, and by its server for others, one at a time (table_turn.hpp). A
// rank is in one queue at a time, so a queue needs no memory but a word per rank of the job.
//
// A program changes a queue under the condition's lock alone. The table does not rely on it: what two locks guard is
// found, and a rank that is in a queue does not enter another one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dsm/heap_memory.hpp"
#include "dsm/messages.hpp"

namespace grapnel::dsm {

class ConditionQueues {
 public:
  explicit ConditionQueues(HeapMemory& memory) : memory_(memory) {}

  struct Answer {
    bool refused = false;              ///< the rank is in a queue already
    std::uint32_t other_lock = 0;      ///< as in ConditionReply
    std::vector<std::uint32_t> ranks;  ///< that were taken out
  };

  /// Whether the body names a condition that this node keeps, a lock and a wish.
  bool is_kept_here(const ConditionBody& body, std::size_t node) const;
  /// Does what the rank wishes; nothing where another thread changes the table.
  std::optional<Answer> try_do(const ConditionBody& body, std::uint32_t rank);

 private:
  bool enter(ConditionWords& queue, std::uint32_t rank);
  std::uint32_t take_first(ConditionWords& queue);

  HeapMemory& memory_;
};

/// Wakes a rank of this node that was taken out of the condition's queue. False: it does not wait for the condition.
bool wake_waiter(const HeapMemory& memory, os::Host& host, const WakeBody& body);

}  // namespace grapnel::dsm
