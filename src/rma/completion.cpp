// Waiting for started operations, and aggregates.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "rma/internal/run_pairs.hpp"
#include "rma/rma.hpp"

namespace grapnel::rma {

// ---- aggregates: many small puts, or gets, in few messages ----

// Takes only what is of its kind and for its target, so what is kept of another is sent first.
Result<Aggregate*> Rma::aggregate_for(Operation& operation, OperationKind kind, Rank target) {
  const Aggregate* kept = operation.aggregate.get();
  if (kept != nullptr && (kept->kind != kind || kept->target != target)) GRAPNEL_TRY(send_aggregate(operation));
  if (!operation.aggregate) operation.aggregate = std::make_unique<Aggregate>(Aggregate{kind, target, {}, {}});
  return operation.aggregate.get();
}

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
  GRAPNEL_ASSIGN_OR_RETURN(const auto aggregate, aggregate_for(operation, what.kind, what.target));
  auto& pieces = aggregate->pieces;
  pieces.insert(pieces.end(), what.pieces.begin(), what.pieces.end());
  return {};
}

Status Rma::gather_value(Operation& operation, const ContiguousTransfer& what) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto aggregate, aggregate_for(operation, what.kind, what.target));
  auto& kept = aggregate->values.emplace_back();
  GRAPNEL_CHECK(what.bytes <= kept.size(), "a value of {} bytes; {} are possible", what.bytes, kept.size());
  std::memcpy(kept.data(), what.local, what.bytes);
  aggregate->pieces.push_back({kept.data(), what.remote, what.bytes});
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
  if (operation.pending > 0 || !has_left(operation)) {
    GRAPNEL_TRY(client_->health());
    return false;
  }
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

// What aggregates keep stays where it is.
Status Rma::wait_all() {
  if (client_ == nullptr) return {};
  Status first = wait_implicit();
  progress::Client::Guard guard(*client_);
  handles_.for_each([&](Operation& operation) {
    const Status one = complete(operation);
    if (first.ok()) first = one;
  });
  return first;
}

}  // namespace grapnel::rma
