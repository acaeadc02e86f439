// Updates: an operation on each element of the target, with or without the old elements; and the compare.
//
//   update            remote[i] = remote[i] ∘ source[i]                     completes as an accumulate
//   fetching update   the same, and the old elements come back               completes as a get
//   compare           one value of 1 to 8 bytes, replaced where it is as expected; the old value comes back
//
// All of them, and accumulates, exclude each other by stripes, whatever their types: atomic for each element. The
// processor's atomics (`rmw`) know nothing of stripes.
// Cost: same node: the stripe (20 ns), the copy and the operation. Other node: ⌈bytes/chunk⌉ messages; one round trip
// where the old elements come back.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "rma/internal/updating.hpp"
#include "rma/rma.hpp"
#include "rma/update_kernels.hpp"

namespace grapnel::rma {
namespace {

// For the lookup in what the target has lent.
PartsTransfer one_part(void* remote, std::size_t bytes, Rank target) {
  PartsTransfer what;
  what.kind = OperationKind::update;
  what.fetches = true;
  what.lent = true;
  what.target = target;
  what.bytes = bytes;
  what.batches = [remote, bytes](const PartsTransfer::Visit& visit) {
    const Part part{nullptr, nullptr, remote, bytes};
    return visit({&part, 1}, true);
  };
  return what;
}

}  // namespace

Result<UpdateTransfer> Rma::update_transfer(grapnel::Operation operation, NumberType number, const void* source,
                                            void* old_elements, void* remote, std::size_t count, Rank target) {
  UpdateTransfer what;
  what.update = {operation, number};
  const Reduction* const kernel = find_kernel(operation, number);
  if (kernel == nullptr) return kernel_of(what.update).status();
  what.kernel = *kernel;
  if (count > SIZE_MAX / what.kernel.element_bytes) {
    return Status(Code::invalid_argument, fmt::format("update: {} elements do not fit into any memory", count));
  }
  what.bytes = count * what.kernel.element_bytes;
  if (source == nullptr && what.bytes > 0 && operation != grapnel::Operation::none) {
    return Status(Code::invalid_argument, fmt::format("update: no operands were given for {}", what.kernel.name));
  }
  what.local = const_cast<void*>(operation == grapnel::Operation::none ? nullptr : source);
  what.old_elements = old_elements;
  what.remote = remote;
  what.target = target;
  return what;
}

Result<Rma::Route> Rma::route(const UpdateTransfer& what) const {
  // Without operands and answer there is nothing to do.
  const bool changes = what.update.operation != grapnel::Operation::none || what.old_elements != nullptr;
  GRAPNEL_ASSIGN_OR_RETURN(const auto way, route(what.remote, what.bytes, what.target, "update"));
  if (way != Route::nothing) GRAPNEL_TRY(check_domain(what.remote, what.target, "update"));
  return changes ? way : Route::nothing;
}

Status Rma::by_shared_memory(const UpdateTransfer& what) {
  count_shared(what.kind, what.bytes);
  StripeHolder holder(waiting_, stripes_, stripes_.rank_mark());
  return update_waiting(holder, what.update, what.kernel, static_cast<std::byte*>(what.remote),
                        static_cast<const std::byte*>(what.local), static_cast<std::byte*>(what.old_elements),
                        what.bytes);
}

Status Rma::by_wire(const UpdateTransfer& what, Operation& operation) {
  const NodeId node = node_of(what.target);
  const auto address = reinterpret_cast<std::uint64_t>(what.remote);
  GRAPNEL_TRY(before_messages(node));
  const ByteView operands(static_cast<const std::byte*>(what.local), what.local != nullptr ? what.bytes : 0);
  if (what.old_elements == nullptr) {
    return remote_->update(node, operation, what.update, address, operands, fences_.acknowledgement(node));
  }
  return remote_->fetch_and_update(node, operation, what.update, what.kernel.element_bytes, address, operands,
                                   {static_cast<std::byte*>(what.old_elements), what.bytes});
}

// ---- compare

Result<Rma::Route> Rma::route(const CompareTransfer& what) const {
  if (!is_compared_width(what.bytes)) {
    return Status(Code::invalid_argument, fmt::format("compare: {} bytes; it takes 1, 2, 4 or 8", what.bytes));
  }
  if (what.lent) return route(one_part(what.remote, what.bytes, what.target));
  GRAPNEL_ASSIGN_OR_RETURN(const auto way, route(what.remote, what.bytes, what.target, "compare"));
  GRAPNEL_TRY(check_domain(what.remote, what.target, "compare"));
  return way;
}

Status Rma::by_shared_memory(const CompareTransfer& what) {
  count_shared(what.kind, what.bytes);
  StripeHolder holder(waiting_, stripes_, stripes_.rank_mark());
  auto* const place = static_cast<std::byte*>(what.remote);
  std::uint64_t old_value = 0;
  if (what.lent) {
    GRAPNEL_TRY(holder.hold(place, what.bytes, lent_.space(what.target, place)));
    GRAPNEL_ASSIGN_OR_RETURN(old_value, lent_.compare(what.target, place, what.bytes, what.expected, what.desired));
  } else {
    GRAPNEL_TRY(holder.hold(place, what.bytes));
    old_value = compare_held(place, what.bytes, what.expected, what.desired);
  }
  std::memcpy(what.old_value, &old_value, what.bytes);
  return {};
}

Status Rma::by_wire(const CompareTransfer& what, Operation& operation) {
  const NodeId node = node_of(what.target);
  GRAPNEL_TRY(before_messages(node));
  const CompareBody body{{reinterpret_cast<std::uint64_t>(what.remote), what.bytes}, what.expected, what.desired};
  const std::int64_t owner = what.lent ? static_cast<std::int64_t>(index(what.target)) : kInSegments;
  return remote_->compare(node, operation, body, owner, what.old_value);
}

Result<std::uint64_t> Rma::compare(void* remote, std::uint64_t expected, std::uint64_t desired, std::size_t bytes,
                                   Rank target, bool lent) {
  std::uint64_t old_value = 0;
  GRAPNEL_TRY(transfer(CompareTransfer{remote, expected, desired, &old_value, bytes, target, lent}));
  return old_value;
}

}  // namespace grapnel::rma
