// How a barrier makes the writes before it visible, and how the next one's way is chosen.
//
//   plan      before the wire            on the wire (N nodes)                             messages/node   delays
//   serial    serial fence               dissemination                                     2t + L          2t + L
//   few       fence, K at once           dissemination                                     2t + L          2⌈t/K⌉ + L
//   clean                                dissemination, which also states whether all        L               L
//                                        writes were acknowledged; if not: as exchange     ≤ 3L            ≤ 3L
//   exchange                             reduce-scatter of counts, dissemination           2L              2L
//   direct                               every node gets its count, dissemination          N−1 + L         1 + L
//   gather                               one node gathers the counts and sends each its    2 + 2·children  4·levels
//                                        own; the same again for who has applied them
//
//   L = ⌈log2 N⌉ (with a fanout k: rounds ⌈log_k N⌉, messages up to (k−1)·⌈log_k N⌉); t: dirty nodes of a rank.
//   A gather has one level up to 9 nodes, whose root has N−1 children; two up to 73.
//
// All the others give every node the same work, to be done at the same time. Where nodes share processors, it is not:
// there the messages of all of them count, 4(N−1) in a gather, 2·N·L in an exchange.
//
// `next_plan` is a pure function of what the barrier before reduced over all its nodes, so all ranks choose the same
// without asking. A program that does what it did before gets the cheapest plan; a wrong guess is never wrong in
// effect: only clean relies on its guess, and it looks. Source: thesis, sections 3.1 and 4.1 (serial), 4.2 (exchange).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "sync/settings.hpp"

namespace grapnel::sync {

enum class BarrierPlan : std::uint32_t { clean, serial, few, exchange, direct, gather };

const char* to_string(BarrierPlan plan);

/// What a barrier sums up over its nodes. All members are sums or maxima, so the order does not matter.
struct BarrierTotals {
  std::uint64_t dirty = 0;            ///< sum over ranks: nodes with writes that were not acknowledged at its arrival
  std::uint64_t refused = 0;          ///< sum over nodes: writes that their servers refused so far
  std::uint32_t most_dirty = 0;       ///< the largest of the ranks' dirty nodes
  std::uint32_t message_cost_ns = 0;  ///< the largest of what one message takes a server
  std::uint32_t delay_ns = 0;         ///< the largest of half a round trip
  std::uint32_t crowd_percent = 0;    ///< the most nodes to a processor of their machine, in hundredths

  void add(const BarrierTotals& other);
};

/// What a plan's choice depends on besides the totals; the same in all ranks.
struct Terms {
  std::uint32_t nodes = 1;
  std::uint32_t fanout = 2;
  std::uint32_t fence_window = 16;
};

/// The plan's estimated time, ns, when the dirtiest rank has written to `most_dirty` nodes.
double estimated_ns(BarrierPlan plan, const BarrierTotals& totals, const Terms& terms);

/// The cheapest plan for a barrier like the one that had these totals.
BarrierPlan next_plan(const BarrierTotals& totals, const Terms& terms);

/// A group's first barrier, whose ranks know nothing of each other.
inline constexpr BarrierPlan kFirstPlan = BarrierPlan::clean;

/// The plan that a setting forces; nothing for `auto`.
std::optional<BarrierPlan> forced_plan(BarrierKind kind);

}  // namespace grapnel::sync
