// A transfer from the call to its completion: blocking, started, gathered; by shared memory or by wire.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "rma/rma.hpp"

namespace grapnel::rma {
namespace {

std::size_t bytes_of(const ContiguousTransfer& what) { return what.bytes; }
std::size_t bytes_of(const UpdateTransfer& what) { return what.bytes; }
std::size_t bytes_of(const CompareTransfer& what) { return what.bytes; }
std::size_t bytes_of(const PartsTransfer& what) { return what.bytes; }
std::size_t bytes_of(const StridedTransfer& what) { return static_cast<std::size_t>(what.local_shape->total_bytes()); }
std::size_t bytes_of(const VectorTransfer& what) {
  std::size_t bytes = 0;
  for (const Piece& piece : what.pieces) bytes += piece.bytes;
  return bytes;
}

/// Addresses from the first to behind the last.
struct Extent {
  std::uintptr_t begin = 0, end = 0;
};

Extent extent_of(const void* base, const Strided& shape) {
  Extent extent{reinterpret_cast<std::uintptr_t>(base), reinterpret_cast<std::uintptr_t>(base)};
  if (shape.total_bytes() == 0) return extent;
  for (int level = 0; level < shape.levels; ++level) {
    const std::int64_t reach = shape.stride[level] * (shape.count[level + 1] - 1);
    (reach < 0 ? extent.begin : extent.end) += static_cast<std::uintptr_t>(reach);
  }
  extent.end += static_cast<std::uintptr_t>(shape.count[0]);
  return extent;
}

/// Of the local side; of pieces, each.
template <typename Visit>
void for_each_local(const ContiguousTransfer& what, Visit visit) {
  const auto begin = reinterpret_cast<std::uintptr_t>(what.local);
  visit(Extent{begin, begin + what.bytes});
}
template <typename Visit>
void for_each_local(const UpdateTransfer& what, Visit visit) {
  for (const void* const side : {what.local, what.old_elements}) {
    const auto begin = reinterpret_cast<std::uintptr_t>(side);
    if (side != nullptr) visit(Extent{begin, begin + what.bytes});
  }
}
template <typename Visit>
void for_each_local(const CompareTransfer& what, Visit visit) {
  const auto begin = reinterpret_cast<std::uintptr_t>(what.old_value);
  visit(Extent{begin, begin + what.bytes});
}
template <typename Visit>
void for_each_local(const StridedTransfer& what, Visit visit) {
  visit(extent_of(what.local, *what.local_shape));
}
template <typename Visit>
void for_each_local(const VectorTransfer& what, Visit visit) {
  for (const Piece& piece : what.pieces) {
    const auto begin = reinterpret_cast<std::uintptr_t>(piece.local);
    visit(Extent{begin, begin + piece.bytes});
  }
}

template <typename Visit>
void for_each_local(const PartsTransfer& what, Visit visit) {
  static_cast<void>(what.batches([&](std::span<const Part> parts, bool) -> Status {
    for (const Part& part : parts) {
      for (const void* const side : {part.source, static_cast<const void*>(part.destination)}) {
        const auto begin = reinterpret_cast<std::uintptr_t>(side);
        if (side != nullptr) visit(Extent{begin, begin + part.bytes});
      }
    }
    return {};
  }));
}

}  // namespace

// A fault there would ask for the client, which a transfer between nodes holds.
template <typename Transfer>
Status Rma::check_local(const Transfer& what) const {
  if (kept_out_end_ == 0) return {};
  bool meets = false;
  for_each_local(what, [&](const Extent& one) { meets |= one.begin < kept_out_end_ && one.end > kept_out_begin_; });
  if (!meets) return {};
  return Status(
      Code::invalid_argument,
      fmt::format("a local buffer lies in the shared heap [{:#x}, {:#x}); copy it to memory of this process to "
                  "move it to another node",
                  kept_out_begin_, kept_out_end_));
}

void Rma::count_wire(OperationKind kind, std::size_t bytes, std::uint64_t messages_before) {
  OperationCounts& counts = counts_[static_cast<std::size_t>(kind)];
  counts.wire_operations.add(1);
  counts.wire_bytes.add(bytes);
  counts.wire_messages.add(client_->messages() - messages_before);
}

// With the client's guard held: sends what the transfer takes.
template <typename Transfer>
Status Rma::send_by_wire(const Transfer& what, Operation& operation) {
  const NodeId node = node_of(what.target);
  const std::uint64_t messages = client_->messages();
  GRAPNEL_TRY(by_wire(what, operation));
  count_wire(what.kind, bytes_of(what), messages);
  fences_.sent(node);
  return {};
}

template Status Rma::send_by_wire(const VectorTransfer&, Operation&);  // for completion.cpp

// Everything sent to the node has left this process; a flush of native puts completes them.
Status Rma::wait_until_left(NodeId node) {
  if (native_ && native_->unflushed(node)) return native_->flush(node);
  return client_->drain(node);
}

bool Rma::has_left(const Operation& operation) {
  if (!operation.must_drain) return true;
  for (std::size_t node = 0; node < launch_.nodes().node_count(); ++node) {
    const bool concerned = operation.several_nodes || index(operation.node) == node;
    if (concerned && !client_->try_drain(NodeId{static_cast<int>(node)})) return false;
  }
  return true;
}

Status Rma::complete(Operation& operation) {
  GRAPNEL_TRY(client_->wait_until(
      [&] { return operation.pending == 0; }, progress::Waiting::kForever,
      [&] {
        // What has to leave was a write; else its answer is waited for.
        const char* const call = operation.must_drain ? "put" : "get";
        return progress::WaitSubject{
            progress::WaitKind::answer, call, {operation.must_drain ? index(operation.node) : UINT64_MAX}};
      }));
  if (operation.must_drain) {
    for (std::size_t node = 0; node < launch_.nodes().node_count(); ++node) {
      if (operation.several_nodes || index(operation.node) == node) {
        GRAPNEL_TRY(wait_until_left(NodeId{static_cast<int>(node)}));
      }
    }
  }
  return operation.failure;
}

template <typename Transfer>
Status Rma::run_parts(const Transfer& what, bool blocking, Handle* handle) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto parts, parts_of(what));
  return blocking ? run_blocking(parts) : run_started(parts, handle);
}

template <typename Transfer>
Status Rma::run_blocking(const Transfer& what) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto way, route(what));
  if (way == Route::nothing) return {};
  if (way == Route::shared) return by_shared_memory(what);
  GRAPNEL_TRY(check_local(what));
  progress::Client::Guard guard(*client_);
  // A slot of the table and not the stack: where the job ends in the middle, what arrives late still finds it.
  Handle handle;
  Operation& operation = handles_.of(handle);
  Status completed = send_by_wire(what, operation);
  if (completed.ok()) completed = complete(operation);
  if (operation.pending == 0) handles_.release(handle);
  return completed;
}

Status Rma::put_elsewhere(const void* source, void* remote, std::size_t bytes, Rank target) {
  return run_blocking(ContiguousTransfer{OperationKind::put, {}, const_cast<void*>(source), remote, bytes, target});
}

Status Rma::get_elsewhere(const void* remote, void* destination, std::size_t bytes, Rank target) {
  return run_blocking(
      ContiguousTransfer{OperationKind::get, {}, destination, const_cast<void*>(remote), bytes, target});
}

Status Rma::accumulate_elsewhere(ElementType type, const void* scale, const void* source, void* remote,
                                 std::size_t bytes, Rank target) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto how, arithmetic(type, scale, bytes));
  return run_blocking(
      ContiguousTransfer{OperationKind::accumulate, how, const_cast<void*>(source), remote, bytes, target});
}

Status Rma::transfer(const ContiguousTransfer& what) {
  return what.lent ? run_parts(what, true, nullptr) : run_blocking(what);
}
Status Rma::transfer(const StridedTransfer& what) {
  if (what.lent) return run_parts(what, true, nullptr);
  if (by_rows(what)) return {};
  return run_blocking(what);
}
Status Rma::transfer(const VectorTransfer& what) {
  return what.lent ? run_parts(what, true, nullptr) : run_blocking(what);
}
Status Rma::transfer(const UpdateTransfer& what) {
  return what.lent ? run_parts(what, true, nullptr) : run_blocking(what);
}
Status Rma::transfer(const CompareTransfer& what) { return run_blocking(what); }
Status Rma::transfer(const StridedUpdate& what) { return run_parts(what, true, nullptr); }
Status Rma::transfer(const VectorUpdate& what) { return run_parts(what, true, nullptr); }
Status Rma::put_and_signal(const SignalledPut& what) { return run_blocking(what); }

// ---- started operations ----

template <typename Transfer>
Status Rma::run_started(const Transfer& what, Handle* handle) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto way, route(what));
  if (way == Route::nothing) return {};
  if (way == Route::shared) return by_shared_memory(what);
  GRAPNEL_TRY(check_local(what));
  progress::Client::Guard guard(*client_);
  Operation& operation = handle != nullptr ? handles_.of(*handle) : implicit_[index(what.target)];
  if constexpr (!std::is_same_v<Transfer, UpdateTransfer> && !std::is_same_v<Transfer, CompareTransfer> &&
                !std::is_same_v<Transfer, PartsTransfer>) {
    const bool is_copy = what.kind == OperationKind::put || what.kind == OperationKind::get;
    if (is_copy && handle != nullptr && HandleTable::aggregates(*handle)) {
      GRAPNEL_ASSIGN_OR_RETURN(const auto aggregate, aggregate_for(operation, what.kind, what.target));
      aggregate->add(what);
      return {};
    }
  }
  return send_by_wire(what, operation);
}

Status Rma::start_value(const void* value, std::size_t bytes, void* remote, Rank target, Handle* handle) {
  const bool gathers = handle != nullptr && HandleTable::aggregates(*handle);
  if (!gathers || is_local(target)) return put(value, remote, bytes, target);
  const ContiguousTransfer what{OperationKind::put, {}, const_cast<void*>(value), remote, bytes, target};
  GRAPNEL_TRY(route(what).status());
  GRAPNEL_TRY(check_local(what));
  progress::Client::Guard guard(*client_);
  GRAPNEL_ASSIGN_OR_RETURN(const auto aggregate, aggregate_for(handles_.of(*handle), what.kind, target));
  aggregate->add_value(what);
  return {};
}

Status Rma::start(const ContiguousTransfer& what, Handle* handle) {
  return what.lent ? run_parts(what, false, handle) : run_started(what, handle);
}
Status Rma::start(const StridedTransfer& what, Handle* handle) {
  if (what.lent) return run_parts(what, false, handle);
  if (by_rows(what)) return {};
  return run_started(what, handle);
}
Status Rma::start(const VectorTransfer& what, Handle* handle) {
  return what.lent ? run_parts(what, false, handle) : run_started(what, handle);
}
Status Rma::start(const UpdateTransfer& what, Handle* handle) {
  return what.lent ? run_parts(what, false, handle) : run_started(what, handle);
}
Status Rma::start(const CompareTransfer& what, Handle* handle) { return run_started(what, handle); }
Status Rma::start(const StridedUpdate& what, Handle* handle) { return run_parts(what, false, handle); }
Status Rma::start(const VectorUpdate& what, Handle* handle) { return run_parts(what, false, handle); }

}  // namespace grapnel::rma
