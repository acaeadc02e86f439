// SPDX-License-Identifier: Apache-2.0
#include "sync/barrier/instance.hpp"

#include <fmt/format.h>

#include <utility>

#include "sync/barrier/words.hpp"

namespace grapnel::sync {

void BarrierInstance::launch(const BarrierMembers& members, BarrierPlan plan, const BarrierTotals& totals,
                             Bytes payload, Combine combine) {
  members_ = &members;
  plan_ = plan;
  mine_ = totals;
  payload_ = std::move(payload);
  combine_ = combine;
  carries_ = true;
  // What came before the group was known here.
  std::erase_if(inbox_, [&](const auto& entry) {
    const auto& [tag, message] = entry;
    return !is_due(members, std::get<NodeId>(tag), message.body, message.payload.size());
  });
  if (doubled_) host_.abort_job(group_, fmt::format("the server of node {} sent a message twice", index(*doubled_)));
  const bool fenced = plan == BarrierPlan::serial || plan == BarrierPlan::few;
  enter(fenced || plan == BarrierPlan::clean ? BarrierStage::first : BarrierStage::counts);
}

bool BarrierInstance::take(NodeId from, const BarrierBody& body, ByteView payload) {
  if (body.stage == BarrierStage::first || body.stage == BarrierStage::last) {
    const std::size_t small = body.small_bytes, both = payload.size(), most = PayloadArea::kMostBytes;
    if (small > both || small > most || both - small > most) return false;
  } else if (body.stage != BarrierStage::counts || payload.size() % sizeof(std::uint64_t) != 0) {
    return false;
  }
  const auto [place, is_new] = inbox_.try_emplace(Tag{body.stage, body.round, from});
  if (is_new) {
    place->second = {body, Bytes(payload.begin(), payload.end())};
    return true;
  }
  doubled_ = from;
  if (launched()) host_.abort_job(group_, fmt::format("the server of node {} sent a message twice", index(from)));
  return false;
}

const BarrierInstance::Message* BarrierInstance::find(std::uint32_t round, std::uint32_t from) const {
  const auto found = inbox_.find({stage_, round, node_at(from)});
  return found == inbox_.end() ? nullptr : &found->second;
}

const BarrierInstance::Message* BarrierInstance::find(std::uint32_t round, std::uint32_t from,
                                                      std::size_t numbers) const {
  const Message* came = find(round, from);
  if (came != nullptr && came->payload.size() != numbers * sizeof(std::uint64_t)) {
    host_.abort_job(group_, fmt::format("the server of node {} sent {} bytes of counts where {} numbers were due",
                                        index(node_at(from)), came->payload.size(), numbers));
  }
  return came;
}

BarrierBody BarrierInstance::body(std::uint32_t round) const {
  BarrierBody body;
  body.group = group_;
  body.count = count_;
  body.from = members_->me;
  body.stage = stage_;
  body.round = static_cast<std::uint8_t>(round);
  return body;
}

void BarrierInstance::enter(BarrierStage stage) {
  stage_ = stage;
  round_ = 0;
  sent_ = false;
  // Writes that came after the launch may have been refused, too: by now all that are waited for are here.
  if (stage == BarrierStage::last) mine_.refused = host_.refused();
  if (stage == BarrierStage::first || stage == BarrierStage::last) {
    small_ = {};
    large_ = {mine_, carries_ ? payload_ : Bytes{}};
  }
  if (stage == BarrierStage::counts) {
    writes_.assign(members_->size(), 0);
    zero_ = plan_ == BarrierPlan::gather ? 0 : members_->me;
    for (std::uint32_t i = 0; i < members_->size(); ++i) {
      const NodeId node = node_at(zero_ + i);
      if (node != node_at(members_->me)) writes_[i] = host_.counted(*members_, node);
    }
  }
}

bool BarrierInstance::proceed() {
  if (!launched()) return false;
  while (stage_ != BarrierStage::over && proceed_in_stage()) {
    const bool disseminated = stage_ == BarrierStage::first || stage_ == BarrierStage::last;
    if (disseminated && std::exchange(carries_, false)) payload_ = std::move(large_.payload);
    enter(stage_after());
  }
  return stage_ == BarrierStage::over;
}

bool BarrierInstance::proceed_in_stage() {
  switch (stage_) {
    case BarrierStage::first: return disseminate();
    case BarrierStage::last: return plan_ == BarrierPlan::gather ? gather_sums() : disseminate();
    case BarrierStage::counts:
      if (plan_ == BarrierPlan::gather) return gather_counts();
      return plan_ == BarrierPlan::direct ? tell_counts() : exchange_counts();
    case BarrierStage::applied: return host_.applied(*members_) >= awaited_;
    case BarrierStage::over: break;
  }
  return false;
}

BarrierStage BarrierInstance::stage_after() const {
  switch (stage_) {
    case BarrierStage::first: {
      // All nodes have the same sum, so all continue, or none.
      const bool guessed_wrong = plan_ == BarrierPlan::clean && large_.totals.dirty > 0;
      return guessed_wrong ? BarrierStage::counts : BarrierStage::over;
    }
    case BarrierStage::counts: return BarrierStage::applied;
    case BarrierStage::applied: return BarrierStage::last;
    default: return BarrierStage::over;
  }
}

}  // namespace grapnel::sync
