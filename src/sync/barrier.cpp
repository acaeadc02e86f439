// SPDX-License-Identifier: Apache-2.0
#include "sync/barrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "core/core.hpp"
#include "rma/settings.hpp"
#include "sync/settings.hpp"

namespace grapnel::sync {
namespace {

// Of the round trips that tell the delay.
constexpr int kLeastAsks = 3, kMostAsks = 32;
constexpr std::uint64_t kAskFor_ns = base::kMillisecond_ns;

}  // namespace

Barriers::Barriers(core::Core& core, rma::Rma& rma)
    : launch_(core.launch),
      waiting_(core.waiting),
      rma_(rma),
      client_(core.client),
      server_(core.server),
      forced_(forced_plan(core.config.get<Settings>().barrier)),
      words_(launch_, waiting_) {
  if (server_ == nullptr) return;
  server_part_ = std::make_unique<BarrierServer>(core.config, launch_, waiting_, *server_, client_->write_counts(),
                                                 words_, combines_);
  server_part_->add_to_server();
}

bool Barriers::passed(const Membership& mine) const {
  return mine.entry->gate.has_passed(gate_count(mine, mine.done + 1));
}

Status Barriers::run(const launch::Group& group, const Contribution& contribution) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto mine, prepare(group, contribution));
  const bool rings = arrive(*mine);
  GRAPNEL_TRY(wait_at_gate(group, *mine, rings));
  return leave(*mine);
}

Status Barriers::begin(const launch::Group& group, const Contribution& contribution) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto mine, prepare(group, contribution));
  if (!arrive(*mine)) return {};
  if (server_ == nullptr) return client_->ring();
  server_->ring_or_drive();
  return {};
}

Result<Barriers::Membership*> Barriers::prepare(const launch::Group& group, const Contribution& contribution) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto found, membership(group));
  Membership& mine = *found;
  if (mine.begun) {
    return Status(Code::invalid_argument, "this group's barrier has begun already; end it before the next one");
  }
  if (contribution.payload.size() > Contribution::kMostBytes) {
    return Status(Code::invalid_argument, fmt::format("a barrier carries {} bytes per rank, not {}",
                                                      Contribution::kMostBytes, contribution.payload.size()));
  }
  if (contribution.combine != 0 && combines_.find(contribution.combine) == nullptr) {
    return Status(Code::invalid_argument, "no function to join a barrier's payloads has been added by this name");
  }
  // First, because it may fail; nothing has begun then.
  if (contribution.combine != 0) GRAPNEL_TRY(contribute(mine, contribution));
  if (client_ != nullptr) GRAPNEL_TRY(complete_own_writes(mine));
  mine.begun = true;
  return &mine;
}

// What the plan wants of this rank before it arrives.
Status Barriers::complete_own_writes(Membership& mine) {
  // A group on one node has no server to sum counts: its members fence what they wrote to other nodes.
  const BarrierPlan plan = mine.several_nodes ? forced_.value_or(mine.plan) : BarrierPlan::few;
  // Not the node's leader, who may be no member: the plan wants to know before that one's first barrier.
  if (mine.measures && !forced_) GRAPNEL_TRY(measure_delay());
  const bool fences = plan == BarrierPlan::few || plan == BarrierPlan::serial;
  const auto kind = plan == BarrierPlan::serial ? rma::FenceKind::serial : rma::FenceKind::overlapped;
  // A write of mine that was refused is no reason to leave the others waiting.
  mine.fenced = rma_.before_barrier(mine.nodes, fences, kind, mine.cut);
  if (mine.fenced.code() == Code::peer_dead) return mine.fenced;
  // For the server. Ordered by the arrival.
  if (mine.several_nodes) mine.entry->plan.store(static_cast<std::uint32_t>(plan), std::memory_order_relaxed);
  return {};
}

Status Barriers::contribute(Membership& mine, const Contribution& contribution) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto area_or, words_.payload_area(*mine.entry));
  PayloadArea& area = *area_or;
  Status outcome;
  GRAPNEL_TRY(words_.with_area(area, [&] {
    // For the server. Ordered by the arrival.
    if (mine.several_nodes) mine.entry->combine.store(contribution.combine, std::memory_order_relaxed);
    const std::uint32_t count = (mine.done + 1) & progress::Gate::kCountMask;
    PayloadArea::Joined& in = area.in[count % 2];
    const ByteView before = in.of(count);
    Bytes joined(before.begin(), before.end());
    if (joined.empty()) {
      joined.assign(contribution.payload.begin(), contribution.payload.end());
    } else if (!contribution.payload.empty()) {
      combines_.find(contribution.combine)(joined, contribution.payload);
    }
    if (joined.size() > Contribution::kMostBytes) {
      outcome = Status(Code::invalid_argument, fmt::format("a barrier's payloads join to {} bytes, {} at most",
                                                           joined.size(), Contribution::kMostBytes));
      return;
    }
    std::copy(joined.begin(), joined.end(), in.content);
    in.bytes = static_cast<std::uint32_t>(joined.size());
    in.count = count;
  }));
  return outcome;
}

bool Barriers::arrive(Membership& mine) {
  BarrierEntry& entry = *mine.entry;
  if (!mine.several_nodes) {
    entry.gate.arrive(waiting_.host(), gate_count(mine, mine.done + 1));
    return false;
  }
  if (mine.cut.dirty > 0) {
    entry.dirty.fetch_add(mine.cut.dirty, std::memory_order_relaxed);  // ordered by the arrival
    std::uint32_t most = entry.most_dirty.load(std::memory_order_relaxed);
    while (most < mine.cut.dirty && !entry.most_dirty.compare_exchange_weak(most, mine.cut.dirty)) {
    }
  }
  // acq_rel: the last to arrive sees what all wrote before, and passes it on by the launch.
  if (entry.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != mine.local) return false;
  words_.launch(mine.number);
  return true;
}

Result<Barriers::Membership*> Barriers::begun(const launch::Group& group) {
  auto found = membership(group);
  if (found.ok() && !(*found)->begun) return Status(Code::invalid_argument, "this group's barrier has not begun");
  return found;
}

Result<bool> Barriers::test(const launch::Group& group) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto mine, begun(group));
  if (!passed(*mine)) {
    GRAPNEL_TRY(waiting_.health());
    waiting_.host().relax();
    return false;
  }
  GRAPNEL_TRY(leave(*mine));
  return true;
}

Status Barriers::end(const launch::Group& group) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto mine, begun(group));
  GRAPNEL_TRY(wait_at_gate(group, *mine));
  return leave(*mine);
}

Status Barriers::wait_at_gate(const launch::Group& group, Membership& mine, bool rings) {
  const auto about = [&] {
    return progress::WaitSubject{progress::WaitKind::barrier, "barrier", {group.key, mine.done + 1}, &group.members};
  };
  if (mine.several_nodes && server_ != nullptr) {
    const auto is_open = [&] { return passed(mine); };
    if (is_open()) return {};
    // Only the server opens this gate, so the thread that does its work need not look at anything else.
    progress::Server::Driver driver(*server_);
    if (driver.has_turn()) return waiting_.on_worker(driver, is_open, progress::Waiting::kForever, about);
  }
  if (rings && server_ != nullptr) server_->ring();
  if (rings && server_ == nullptr) GRAPNEL_TRY(client_->ring());
  return mine.entry->gate.wait(waiting_, gate_count(mine, mine.done + 1), about);
}

// The gate is open.
Status Barriers::leave(Membership& mine) {
  mine.begun = false;
  mine.done = (mine.done + 1) & progress::Gate::kCountMask;
  (mine.several_nodes ? counts_.wire : counts_.shared).add(1);
  if (client_ == nullptr) return {};
  Status refused = std::move(mine.fenced);
  bool ask = false;
  if (mine.several_nodes) {
    mine.plan = static_cast<BarrierPlan>(mine.entry->next_plan.load(std::memory_order_relaxed));  // ordered by the gate
    const std::uint64_t all_refused = mine.entry->refused.load(std::memory_order_relaxed);
    ask = all_refused != std::exchange(mine.refused, all_refused);
  }
  Status told = rma_.after_barrier(mine.cut, ask);
  return refused.ok() ? told : refused;
}

ByteView Barriers::joined(const launch::Group& group) {
  const auto found = memberships_.find(group.key);
  if (found == memberships_.end() || !found->second.held) return {};
  const Membership& mine = found->second;
  const PayloadArea* area = words_.find_payload_area(*mine.entry);
  if (area == nullptr) return {};
  if (!mine.several_nodes) return area->in[mine.done % 2].of(mine.done);
  return {area->out, area->out_bytes.load(std::memory_order_relaxed)};
}

BarrierPlan Barriers::plan_of(const launch::Group& group) {
  const auto found = memberships_.find(group.key);
  return forced_.value_or(found == memberships_.end() ? kFirstPlan : found->second.plan);
}

// A client's round trip; what servers need among themselves is near enough for a choice.
Status Barriers::measure_delay() {
  if (words_.delay_ns().load(std::memory_order_relaxed) != 0) return {};
  const NodeId next{static_cast<int>((index(launch_.node()) + 1) % launch_.nodes().node_count())};
  std::uint64_t least_ns = UINT32_MAX;
  const std::uint64_t first_ns = waiting_.host().now_ns();
  // Where a round trip is short, most of one can be waiting for a processor: of many, the least has little of that.
  for (int i = 0; i < kMostAsks; ++i) {
    const std::uint64_t begin_ns = waiting_.host().now_ns();
    if (i >= kLeastAsks && begin_ns - first_ns > kAskFor_ns) break;
    progress::OutgoingRequest request;
    request.handler = progress::kCountsHandler;
    const progress::Client::Guard guard(*client_);
    const auto answered = client_->ask(next, request);
    if (!answered) return answered.status();
    least_ns = std::min(least_ns, (waiting_.host().now_ns() - begin_ns) / 2);
  }
  words_.delay_ns().store(static_cast<std::uint32_t>(std::max<std::uint64_t>(least_ns, 1)), std::memory_order_relaxed);
  return {};
}

}  // namespace grapnel::sync
