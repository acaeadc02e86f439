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
  }
  return "?";
}

void Tally::add(const Tally& other) {
  dirty += other.dirty;
  refused += other.refused;
  most_dirty = std::max(most_dirty, other.most_dirty);
  message_cost_ns = std::max(message_cost_ns, other.message_cost_ns);
  delay_ns = std::max(delay_ns, other.delay_ns);
}

double estimated_ns(BarrierPlan plan, const Tally& tally, const Terms& terms) {
  const double cost = tally.message_cost_ns, delay = tally.delay_ns, dirty = tally.most_dirty;
  double dissemination_ns = 0;
  for_each_round(terms.nodes, terms.fanout,
                 [&](std::uint32_t messages) { dissemination_ns += delay + cost * messages; });
  const auto exchange_rounds = static_cast<double>(std::bit_width(terms.nodes - 1));
  const auto others = static_cast<double>(terms.nodes - 1);
  const std::uint32_t window = std::max(terms.fence_window, 1U);
  const std::uint32_t windows = (tally.most_dirty + window - 1) / window;
  switch (plan) {
    case BarrierPlan::clean: return dissemination_ns;
    case BarrierPlan::serial: return 2 * dirty * (delay + cost) + dissemination_ns;
    case BarrierPlan::few: return 2 * windows * delay + 2 * dirty * cost + dissemination_ns;
    case BarrierPlan::exchange: return exchange_rounds * (delay + cost) + dissemination_ns;
    // A node sends to all the others and takes from all of them.
    case BarrierPlan::direct: return delay + 2 * others * cost + dissemination_ns;
  }
  return dissemination_ns;
}

BarrierPlan next_plan(const Tally& tally, const Terms& terms) {
  if (tally.dirty == 0) return BarrierPlan::clean;
  BarrierPlan best = BarrierPlan::exchange;
  double least_ns = estimated_ns(best, tally, terms);
  for (const BarrierPlan plan : {BarrierPlan::direct, BarrierPlan::few}) {
    const double time_ns = estimated_ns(plan, tally, terms);
    if (time_ns < least_ns) best = plan;
    least_ns = std::min(least_ns, time_ns);
  }
  return best;
}

std::optional<BarrierPlan> forced_plan(base::BarrierKind kind) {
  switch (kind) {
    case base::BarrierKind::serial: return BarrierPlan::serial;
    case base::BarrierKind::few: return BarrierPlan::few;
    case base::BarrierKind::clean: return BarrierPlan::clean;
    case base::BarrierKind::exchange: return BarrierPlan::exchange;
    case base::BarrierKind::direct: return BarrierPlan::direct;
    case base::BarrierKind::automatic: break;
  }
  return std::nullopt;
}

}  // namespace grapnel::sync
