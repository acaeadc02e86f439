// SPDX-License-Identifier: Apache-2.0
#include "sync/barrier/plan.hpp"

#include <algorithm>
#include <bit>

#include "sync/barrier/schedule.hpp"

namespace grapnel::sync {

const char* to_string(BarrierPlan plan) {
  switch (plan) {
    case BarrierPlan::clean: return "clean";
    case BarrierPlan::serial: return "serial";
    case BarrierPlan::few: return "few";
    case BarrierPlan::exchange: return "exchange";
    case BarrierPlan::direct: return "direct";
    case BarrierPlan::gather: return "gather";
  }
  return "?";
}

void BarrierTotals::add(const BarrierTotals& other) {
  dirty += other.dirty;
  refused += other.refused;
  most_dirty = std::max(most_dirty, other.most_dirty);
  message_cost_ns = std::max(message_cost_ns, other.message_cost_ns);
  delay_ns = std::max(delay_ns, other.delay_ns);
  crowd_percent = std::max(crowd_percent, other.crowd_percent);
}

namespace {

// How many nodes take turns on a processor.
double turns(const BarrierTotals& totals) { return std::max(1.0, totals.crowd_percent / 100.0); }

// What a message takes a node, while the others that share its processor send theirs.
double cost_ns(const BarrierTotals& totals) { return totals.message_cost_ns * turns(totals); }

// Where nodes share processors, the receiver of a message also waits for its turn, while it takes others.
double way_ns(const BarrierTotals& totals) { return totals.delay_ns + (turns(totals) > 1 ? cost_ns(totals) : 0); }

// The root's own messages, or all nodes', whichever takes longer. In the other plans a node takes a message while
// others work, within the delay; here they wait for the root, so what it takes counts, too: a half of what a send
// costs.
double gather_ns(const BarrierTotals& totals, const Terms& terms) {
  const double others = terms.nodes - 1;
  const double levels = levels_of_gather(terms.nodes);
  const double root = 2 * std::min<double>(others, kGatherFanout) * levels;
  const double all = 4 * others * turns(totals) / terms.nodes;
  return 4 * levels * way_ns(totals) + std::max(root, all) * 1.5 * totals.message_cost_ns;
}

}  // namespace

double estimated_ns(BarrierPlan plan, const BarrierTotals& totals, const Terms& terms) {
  const double cost = cost_ns(totals), way = way_ns(totals), dirty = totals.most_dirty;
  double dissemination_ns = 0;
  for_each_round(terms.nodes, terms.fanout, [&](std::uint32_t messages) { dissemination_ns += way + cost * messages; });
  const auto exchange_rounds = static_cast<double>(std::bit_width(terms.nodes - 1));
  const auto others = static_cast<double>(terms.nodes - 1);
  const std::uint32_t window = std::max(terms.fence_window, 1U);
  const std::uint32_t windows = (totals.most_dirty + window - 1) / window;
  switch (plan) {
    case BarrierPlan::clean: return dissemination_ns;
    case BarrierPlan::serial: return 2 * dirty * (way + cost) + dissemination_ns;
    case BarrierPlan::few: return 2 * windows * way + 2 * dirty * cost + dissemination_ns;
    case BarrierPlan::exchange: return exchange_rounds * (way + cost) + dissemination_ns;
    // A node sends to all the others and takes from all of them; the latter within the way, where nodes take turns.
    case BarrierPlan::direct: return way + (turns(totals) > 1 ? 1 : 2) * others * cost + dissemination_ns;
    case BarrierPlan::gather: return gather_ns(totals, terms);
  }
  return dissemination_ns;
}

BarrierPlan next_plan(const BarrierTotals& totals, const Terms& terms) {
  if (totals.dirty == 0) return BarrierPlan::clean;
  BarrierPlan best = BarrierPlan::exchange;
  double least_ns = estimated_ns(best, totals, terms);
  for (const BarrierPlan plan : {BarrierPlan::direct, BarrierPlan::few, BarrierPlan::gather}) {
    if (plan == BarrierPlan::gather && turns(totals) <= 1) continue;  // one node would do the work of all
    const double time_ns = estimated_ns(plan, totals, terms);
    if (time_ns < least_ns) best = plan;
    least_ns = std::min(least_ns, time_ns);
  }
  return best;
}

std::optional<BarrierPlan> forced_plan(BarrierKind kind) {
  switch (kind) {
    case BarrierKind::serial: return BarrierPlan::serial;
    case BarrierKind::few: return BarrierPlan::few;
    case BarrierKind::clean: return BarrierPlan::clean;
    case BarrierKind::exchange: return BarrierPlan::exchange;
    case BarrierKind::direct: return BarrierPlan::direct;
    case BarrierKind::gather: return BarrierPlan::gather;
    case BarrierKind::automatic: break;
  }
  return std::nullopt;
}

}  // namespace grapnel::sync
