// SPDX-License-Identifier: Apache-2.0
#include "rma/internal/fences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"

namespace grapnel::rma {

Fences::Fences(const Settings& settings, const launch::Launch& launch, progress::Client* client, NativePath* native)
    : settings_(settings),
      client_(client),
      native_(native),
      acknowledgements_(launch.nodes().node_count()),
      random_(launch.job_secret() ^ index(launch.rank())) {}

progress::OnReply Fences::acknowledgement(NodeId node) {
  Acknowledgements& acknowledgements = acknowledgements_[index(node)];
  const bool asks = acknowledgements.predictor.next_write_asks() && settings_.fence != FenceKind::serial;
  acknowledgements.asked = asks;
  if (!asks) return {};
  return {[](void* refused, const progress::Reply& reply) {
            *static_cast<std::uint32_t*>(refused) += reply.code == progress::ReplyCode::refused;
          },
          &acknowledgements.refused};
}

void Fences::sent(NodeId node) {
  Acknowledgements& acknowledgements = acknowledgements_[index(node)];
  if (std::exchange(acknowledgements.asked, false)) acknowledgements.asked_until = client_->written(node);
}

Status Fences::fence(const std::vector<NodeId>& nodes) {
  GRAPNEL_TRY(flush_native(nodes));
  return fence_messages(nodes, settings_.fence);
}

Status Fences::wait_until_applied(NodeId node) { return wait_until_applied({node}, settings_.fence); }

Status Fences::flush_native(const std::vector<NodeId>& nodes) {
  return native_ != nullptr ? native_->flush(nodes) : Status{};
}

Status Fences::ask_for_counts(NodeId node, std::uint32_t window) {
  const auto about = [node] { return progress::WaitSubject{progress::WaitKind::fence, "fence", {index(node)}}; };
  GRAPNEL_TRY(client_->wait_until([&] { return progress_.unanswered < window; }, progress::Waiting::kForever, about));
  progress::OutgoingRequest request;
  request.handler = progress::kCountsHandler;
  request.on_reply = {[](void* context, const progress::Reply&) {
                        auto& progress = *static_cast<Progress*>(context);
                        GRAPNEL_ASSERT(progress.unanswered > 0, "a question of a fence is answered twice");
                        --progress.unanswered;
                        progress.counts.messages.add(1);
                      },
                      &progress_};
  ++progress_.unanswered;
  progress_.counts.messages.add(1);
  return client_->send(node, request).status();
}

Status Fences::fence_messages(const std::vector<NodeId>& nodes, FenceKind kind) {
  GRAPNEL_TRY(wait_until_applied(nodes, kind));
  return take_refused(nodes);
}

// Returns when all that was written to the nodes by messages is applied, or refused.
Status Fences::wait_until_applied(const std::vector<NodeId>& nodes, FenceKind kind) {
  const std::uint32_t window = kind == FenceKind::serial ? 1 : settings_.fence_window;
  std::vector<std::pair<NodeId, std::uint64_t>> dirty;
  for (const NodeId node : nodes) {
    acknowledgements_[index(node)].predictor.fenced();
    if (!client_->acknowledged(node)) dirty.emplace_back(node, client_->written(node));
  }
  if (!dirty.empty()) {
    progress_.counts.fences.add(1);
    std::rotate(dirty.begin(), dirty.begin() + static_cast<std::ptrdiff_t>(random_.below(dirty.size())), dirty.end());
  }
  const auto applied = [&](const auto& one) { return client_->acknowledged(one.first, one.second); };
  const auto about = [&] {
    const auto first = std::find_if_not(dirty.begin(), dirty.end(), applied);
    return progress::WaitSubject{progress::WaitKind::fence, "fence", {first == dirty.end() ? 0 : index(first->first)}};
  };
  const std::uint64_t forever = progress::Waiting::kForever;
  for (const auto& one : dirty) {
    // Nothing is asked where the acknowledgement has arrived by now or is on its way.
    if (!applied(one) && acknowledgements_[index(one.first)].asked_until < one.second) {
      GRAPNEL_TRY(ask_for_counts(one.first, window));
      if (kind == FenceKind::serial) GRAPNEL_TRY(client_->wait_until([&] { return applied(one); }, forever, about));
    }
  }
  return client_->wait_until([&] { return std::all_of(dirty.begin(), dirty.end(), applied); }, forever, about);
}

// What these nodes refused since the last call: every refusal is reported once, by the first fence that covers it.
Status Fences::take_refused(const std::vector<NodeId>& nodes) {
  Status refused;
  for (const NodeId node : nodes) {
    const std::uint32_t count = client_->take_refused(node) + std::exchange(acknowledgements_[index(node)].refused, 0);
    if (count > 0 && refused.ok()) {
      refused = Status(Code::refused,
                       fmt::format("node {} refused {} writes of this rank; its log says why", index(node), count));
    }
  }
  return refused;
}

// ---- the rank's part of a barrier ----

Status Fences::before_barrier(const std::vector<std::uint8_t>& covered, bool fences, FenceKind kind, BarrierCut& cut) {
  GRAPNEL_ASSERT(covered.size() == acknowledgements_.size(), "{} nodes of {} are covered or not", covered.size(),
                 acknowledgements_.size());
  // First of all: what other threads write while this one waits below is not the barrier's.
  client_->stop_counting();
  cut = {};
  std::vector<NodeId> all, asked, left;
  for (std::size_t i = 0; i < acknowledgements_.size(); ++i) {
    const NodeId node{static_cast<int>(i)};
    all.push_back(node);
    const bool complete = client_->acknowledged(node);
    if (complete || fences || covered[i] == 0 || !client_->acknowledged(node, client_->uncounted(node))) {
      asked.push_back(node);
      cut.dirty += !complete && fences && covered[i] != 0;
    } else {
      ++cut.dirty;
      acknowledgements_[i].predictor.passed();
      left.push_back(node);
      cut.until.emplace_back(node, client_->written(node));
    }
  }
  Status flushed = flush_native(all);
  Status refused = flushed.ok() ? fence_messages(asked, kind) : flushed;
  Status drained = client_->drain(left);
  if (!drained.ok()) return drained;
  return refused;
}

Status Fences::after_barrier(const BarrierCut& cut, bool ask) {
  Status refused;
  if (ask) {
    std::vector<NodeId> nodes;
    for (const auto& [node, until] : cut.until) nodes.push_back(node);
    refused = fence_messages(nodes, FenceKind::overlapped);
  }
  for (const auto& [node, until] : cut.until) client_->confirm(node, until);
  client_->resume_counting();
  return refused;
}

}  // namespace grapnel::rma
