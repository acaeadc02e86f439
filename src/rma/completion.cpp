// Waiting for started operations, and aggregates.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "rma/rma.hpp"

namespace grapnel::rma {

// ---- aggregates: many small puts, or gets, in few messages ----

Result<Aggregate*> Rma::aggregate_for(Operation& operation, OperationKind kind, Rank target) {
  const Aggregate* kept = operation.aggregate.get();
  if (kept != nullptr && (!kept->takes(kind, target))) GRAPNEL_TRY(send_aggregate(operation));
  if (!operation.aggregate) operation.aggregate = std::make_unique<Aggregate>(kind, target);
  return operation.aggregate.get();
}

Status Rma::send_aggregate(Operation& operation) {
  if (!operation.aggregate) return {};
  const auto aggregate = std::move(operation.aggregate);
  return send_by_wire(aggregate->transfer(), operation);
}

// ---- waiting ----

Status Rma::wait(Handle& handle) {
  if (client_ == nullptr || HandleTable::is_new(handle)) return {};
  progress::Client::Guard guard(*client_);
  if (handles_.find(handle) == nullptr) return {};  // all went by shared memory
  Operation& operation = handles_.of(handle);
  GRAPNEL_TRY(send_aggregate(operation));
  Status completed = complete(operation);
  if (operation.pending == 0) handles_.release(handle);
  return completed;
}

Result<bool> Rma::test(Handle& handle) {
  if (client_ == nullptr || HandleTable::is_new(handle)) return true;
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
