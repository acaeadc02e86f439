// Which nodes a fence or a barrier of the caller is for; what they wait for: internal/fences.hpp.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

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
  for (std::size_t node = 0; node < launch_.nodes().node_count(); ++node) {
    nodes.push_back(NodeId(static_cast<int>(node)));
  }
  return fence_nodes(nodes);
}

// Puts to this node are stores, which the processor may still hold back when a later load reads: two ranks that each
// store, fence and load could both miss the other's store. So a fence orders them here, whichever nodes it is for: it
// costs some ns, and a rank is on its own node always. Only other nodes are asked.
Status Rma::fence_nodes(const std::vector<NodeId>& nodes) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (client_ == nullptr) return {};
  progress::Client::Guard guard(*client_);
  return fences_.fence(nodes);
}

Status Rma::before_barrier(const std::vector<std::uint8_t>& covered, bool fences, FenceKind kind, BarrierCut& cut) {
  progress::Client::Guard guard(*client_);
  return fences_.before_barrier(covered, fences, kind, cut);
}

Status Rma::after_barrier(const BarrierCut& cut, bool ask) {
  progress::Client::Guard guard(*client_);
  return fences_.after_barrier(cut, ask);
}

}  // namespace grapnel::rma
