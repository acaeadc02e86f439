// Waiting for started operations, aggregates, and the fence.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rma/rma.hpp"
#include "rma/run_pairs.hpp"

namespace grapnel::rma {

// ---- aggregates: many small puts, or gets, in few messages ----

Status Rma::gather(Operation& operation, const ContiguousTransfer& what) {
  const Piece piece{what.local, what.remote, what.bytes};
  return gather(operation, VectorTransfer{what.kind, {}, {&piece, 1}, what.target});
}

Status Rma::gather(Operation& operation, const StridedTransfer& what) {
  std::vector<Piece> pieces;
  for_each_run_pair(*what.remote_shape, *what.local_shape,
                    [&](std::int64_t remote_offset, std::int64_t local_offset, std::size_t bytes) {
                      pieces.push_back({static_cast<std::byte*>(what.local) + local_offset,
                                        static_cast<std::byte*>(what.remote) + remote_offset, bytes});
                    });
  return gather(operation, VectorTransfer{what.kind, {}, pieces, what.target});
}

Status Rma::gather(Operation& operation, const VectorTransfer& what) {
  const bool other =
      operation.aggregate && (operation.aggregate->kind != what.kind || operation.aggregate->target != what.target);
  if (other) GRAPNEL_TRY(send_aggregate(operation));
  if (!operation.aggregate) operation.aggregate = std::make_unique<Aggregate>(Aggregate{what.kind, what.target, {}});
  auto& pieces = operation.aggregate->pieces;
  pieces.insert(pieces.end(), what.pieces.begin(), what.pieces.end());
  return {};
}

Status Rma::send_aggregate(Operation& operation) {
  if (!operation.aggregate) return {};
  const auto aggregate = std::move(operation.aggregate);
  return send_by_wire(VectorTransfer{aggregate->kind, {}, aggregate->pieces, aggregate->target}, operation);
}

// ---- waiting ----

Status Rma::wait(Handle& handle) {
  if (client_ == nullptr) return {};
  progress::Client::Guard guard(*client_);
  if (handles_.find(handle) == nullptr) return {};  // all went by shared memory
  Operation& operation = handles_.of(handle);
  GRAPNEL_TRY(send_aggregate(operation));
  Status completed = complete(operation);
  if (operation.pending == 0) handles_.release(handle);
  return completed;
}

Result<bool> Rma::test(Handle& handle) {
  if (client_ == nullptr) return true;
  progress::Client::Guard guard(*client_);
  if (handles_.find(handle) == nullptr) return true;
  Operation& operation = handles_.of(handle);
  GRAPNEL_TRY(send_aggregate(operation));
  client_->progress();
  if (operation.pending > 0 || !has_left(operation)) return false;
  const Status failure = operation.failure;
  handles_.release(handle);
  if (!failure.ok()) return failure;
  return true;
}

Status Rma::wait_implicit(Rank target) {
  if (static_cast<std::size_t>(target) >= implicit_.size()) {
    return Status(Code::invalid_argument, fmt::format("wait: rank {} is outside the job", static_cast<int>(target)));
  }
  if (client_ == nullptr) return {};
  progress::Client::Guard guard(*client_);
  Operation& operation = implicit_[index(target)];
  Status completed = complete(operation);
  if (operation.pending == 0) operation = Operation{};
  return completed;
}

Status Rma::wait_implicit() {
  if (client_ == nullptr) return {};
  Status first;
  for (std::size_t rank = 0; rank < implicit_.size(); ++rank) {
    const Status one = wait_implicit(Rank{static_cast<int>(rank)});
    if (first.ok()) first = one;
  }
  return first;
}

// ---- fence ----

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
  for (std::size_t node = 0; node < written_.size(); ++node) nodes.push_back(NodeId(static_cast<int>(node)));
  return fence_nodes(nodes);
}

// Stores to this node's memory are ordered by whoever synchronizes afterwards (release stores and system calls); the
// streaming copies have their own store fence. So only other nodes are asked, and of those only the ones that have not
// acknowledged all that was written there.
Status Rma::fence_nodes(const std::vector<NodeId>& nodes) {
  if (client_ == nullptr) return {};
  progress::Client::Guard guard(*client_);
  if (native_) GRAPNEL_TRY(native_->flush(nodes));
  GRAPNEL_TRY(wait_for_messages(nodes));
  return take_refused(nodes);
}

// Returns when all that was written to the nodes by messages is applied, or refused.
Status Rma::wait_for_messages(const std::vector<NodeId>& nodes) {
  const std::uint32_t window = config_.fence == base::FenceKind::serial ? 1 : config_.fence_window;
  // What the fence waits for is what was written up to now; what other threads add meanwhile is theirs to fence.
  std::vector<std::uint64_t> until;
  for (const NodeId node : nodes) until.push_back(written_[index(node)].until);
  const auto applied = [&](std::size_t i) { return client_->handled(nodes[i]) >= until[i]; };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId node = nodes[i];
    Written& written = written_[index(node)];
    written.predictor.fenced();
    // Nothing is asked where the acknowledgement has come or is on its way.
    if (applied(i) || written.asked_until >= until[i]) continue;
    GRAPNEL_TRY(client_->wait_until([&] { return fence_unanswered_ < window; }));
    progress::Order order;
    order.handler = progress::kCountsHandler;
    order.on_reply = {[](void* context, const progress::Reply&) { --*static_cast<std::uint32_t*>(context); },
                      &fence_unanswered_};
    ++fence_unanswered_;
    const auto sent = client_->send(node, order);
    if (!sent) return sent.status();
  }
  return client_->wait_until([&] {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!applied(i)) return false;
    }
    return true;
  });
}

// Every refusal is told once, by the first fence that covers it.
Status Rma::take_refused(const std::vector<NodeId>& nodes) {
  Status refused;
  for (const NodeId node : nodes) {
    const std::uint32_t count = client_->take_refused(node) + std::exchange(written_[index(node)].refused, 0);
    if (count > 0 && refused.ok()) {
      refused = Status(Code::refused,
                       fmt::format("node {} refused {} writes of this rank; its log says why", index(node), count));
    }
  }
  return refused;
}

}  // namespace grapnel::rma
