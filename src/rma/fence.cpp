// The fence: when it returns, the caller's writes to some nodes are complete there.
//
// A server counts the requests of an origin that it has applied and reports the count with every reply, so a fence asks
// only a node whose count, as far as it is known here, does not cover the last write. What it waits for is what was
// written up to its call; what other threads add in between is theirs to fence.
//
//   serial       ask one server, wait for its answer, ask the next: 2 messages and 2 delays per dirty node
//   overlapped   up to K questions at once, the next one as soon as an answer arrives; the first server asked is a
//                random one, so that the ranks of a job do not all ask the same: 2 messages per dirty node,
//                2⌈dirty/K⌉ delays
//
// Source: thesis, section 3.1.1 (serial) and 3.1.2 (K requests at once, bounded by the buffers; randomised order).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "rma/rma.hpp"

namespace grapnel::rma {

Status Rma::fence(std::span<const Rank> targets) {
  std::vector<NodeId> nodes;
  for (const Rank target : targets) {
    if (static_cast<std::size_t>(target) >= local_.size()) {
      return Status(Code::invalid_argument, fmt::format("fence: rank {} is outside the job", static_cast<int>(target)));
    }
    if (!is_local(target)) nodes.push_back(node_of(target));
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return fence_nodes(nodes);
}

Status Rma::fence_all() {
  std::vector<NodeId> nodes;
  for (std::size_t node = 0; node < acknowledgements_.size(); ++node) nodes.push_back(NodeId(static_cast<int>(node)));
  return fence_nodes(nodes);
}

// Puts to this node are stores, which the processor may still hold back when a later load reads: two ranks that each
// store, fence and load could both miss the other's store. So a fence orders them here, whichever nodes it is for: it
// costs some ns, and a rank is on its own node always. Only other nodes are asked.
Status Rma::fence_nodes(const std::vector<NodeId>& nodes) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (client_ == nullptr) return {};
  progress::Client::Guard guard(*client_);
  GRAPNEL_TRY(flush_native(nodes));
  return fence_messages(nodes, settings_.fence);
}

Status Rma::flush_native(const std::vector<NodeId>& nodes) { return native_ ? native_->flush(nodes) : Status{}; }

Status Rma::ask_for_counts(NodeId node, std::uint32_t window) {
  const auto about = [node] { return progress::WaitSubject{progress::WaitKind::fence, "fence", {index(node)}}; };
  GRAPNEL_TRY(
      client_->wait_until([&] { return fence_progress_.unanswered < window; }, progress::Waiting::kForever, about));
  progress::OutgoingRequest request;
  request.handler = progress::kCountsHandler;
  request.on_reply = {[](void* context, const progress::Reply&) {
                        auto& progress = *static_cast<FenceProgress*>(context);
                        --progress.unanswered;
                        progress.counts.messages.add(1);
                      },
                      &fence_progress_};
  ++fence_progress_.unanswered;
  fence_progress_.counts.messages.add(1);
  return client_->send(node, request).status();
}

Status Rma::fence_messages(const std::vector<NodeId>& nodes, FenceKind kind) {
  GRAPNEL_TRY(wait_until_applied(nodes, kind));
  return take_refused(nodes);
}

// Returns when all that was written to the nodes by messages is applied, or refused.
Status Rma::wait_until_applied(const std::vector<NodeId>& nodes, FenceKind kind) {
  const std::uint32_t window = kind == FenceKind::serial ? 1 : settings_.fence_window;
  std::vector<std::pair<NodeId, std::uint64_t>> dirty;
  for (const NodeId node : nodes) {
    acknowledgements_[index(node)].predictor.fenced();
    if (!client_->acknowledged(node)) dirty.emplace_back(node, client_->written(node));
  }
  if (!dirty.empty()) {
    fence_progress_.counts.fences.add(1);
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
Status Rma::take_refused(const std::vector<NodeId>& nodes) {
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

Status Rma::before_barrier(const std::vector<std::uint8_t>& covered, bool fences, FenceKind kind, BarrierCut& cut) {
  progress::Client::Guard guard(*client_);
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

Status Rma::after_barrier(const BarrierCut& cut, bool ask) {
  progress::Client::Guard guard(*client_);
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
