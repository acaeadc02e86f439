// A transfer goes over the wire, by the way that the table in ways.hpp chooses, once it may.
//
// Messages of one origin are applied in order; native operations are not ordered. So a message waits for a flush
// of the native puts before it, and a native operation for the acknowledgement of the messages before it and for a
// flush where it may touch what an unflushed put touched.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rma/internal/run_pairs.hpp"
#include "rma/rma.hpp"

namespace grapnel::rma {
namespace {

bool contiguous(const Strided& shape) { return shape.levels == 0; }

}  // namespace

Status Rma::before_native(NodeId node, std::uint64_t address, std::size_t bytes) {
  // A refused write before this one is not this one's error: a fence reports it.
  if (!client_->acknowledged(node)) GRAPNEL_TRY(fences_.wait_until_applied(node));
  return native_->unflushed(node, address, bytes) ? native_->flush(node) : Status{};
}

Status Rma::before_messages(NodeId node) { return native_ ? native_->flush(node) : Status{}; }

// Native operations need the key of a registered memory: of an allocation of which this rank is no member, or whose
// group lacks the node's leader, there is none here.
bool Rma::goes_native(OperationKind kind, Form form, std::size_t row_bytes, NodeId node, std::uint64_t address,
                      std::size_t bytes) const {
  if (ways_.choose(kind, form, row_bytes) != WireWay::native) return false;
  const segment::RemoteRegion* region = segments_.find_remote(node, address, bytes);
  return region != nullptr && !region->key.empty();
}

Status Rma::by_native(const ContiguousTransfer& what, Operation& operation) {
  const NodeId node = node_of(what.target);
  const auto address = reinterpret_cast<std::uint64_t>(what.remote);
  GRAPNEL_TRY(before_native(node, address, what.bytes));
  const segment::RemoteRegion* found = segments_.find_remote(node, address, what.bytes);
  if (found == nullptr) return Status(Code::invalid_argument, "the target's memory was freed meanwhile");
  const segment::RemoteRegion& region = *found;
  auto* local = static_cast<std::byte*>(what.local);
  if (what.kind == OperationKind::put) return native_->put(node, operation, region, address, {local, what.bytes});
  return native_->get(node, operation, region, address, {local, what.bytes});
}

Status Rma::by_wire(const ContiguousTransfer& what, Operation& operation) {
  const NodeId node = node_of(what.target);
  const auto address = reinterpret_cast<std::uint64_t>(what.remote);
  if (goes_native(what.kind, Form::contiguous, what.bytes, node, address, what.bytes))
    return by_native(what, operation);
  GRAPNEL_TRY(before_messages(node));
  const ByteView source(static_cast<const std::byte*>(what.local), what.bytes);
  const ByteSpan destination(static_cast<std::byte*>(what.local), what.bytes);
  const bool bulk = ways_.choose(what.kind, Form::contiguous, what.bytes) == WireWay::bulk;
  switch (what.kind) {
    case OperationKind::put:
      return bulk ? remote_->put_bulk(node, operation, address, source, fences_.acknowledgement(node))
                  : remote_->put(node, operation, address, source, fences_.acknowledgement(node));
    case OperationKind::get:
      return bulk ? remote_->get_bulk(node, operation, address, destination)
                  : remote_->get(node, operation, address, destination);
    default:
      return remote_->accumulate(node, operation, what.arithmetic, address, source, fences_.acknowledgement(node));
  }
}

Status Rma::by_wire(const StridedTransfer& what, Operation& operation) {
  const Strided local = normalised(*what.local_shape);
  const Strided remote = normalised(*what.remote_shape);
  const auto [low, high] = extent(remote);
  const bool native = goes_native(what.kind, Form::strided, row_bytes(local, remote), node_of(what.target),
                                  reinterpret_cast<std::uint64_t>(what.remote) + static_cast<std::uint64_t>(low),
                                  static_cast<std::size_t>(high - low));
  if (native || (contiguous(local) && contiguous(remote))) {
    Status status;
    for_each_run_pair(
        *what.remote_shape, *what.local_shape,
        [&](std::int64_t remote_offset, std::int64_t local_offset, std::size_t bytes) {
          if (!status.ok()) return;
          status =
              by_wire(ContiguousTransfer{what.kind, what.arithmetic, static_cast<std::byte*>(what.local) + local_offset,
                                         static_cast<std::byte*>(what.remote) + remote_offset, bytes, what.target},
                      operation);
        });
    return status;
  }
  const NodeId node = node_of(what.target);
  GRAPNEL_TRY(before_messages(node));
  StridedBody body;
  body.base = reinterpret_cast<std::uint64_t>(what.remote);
  body.arithmetic = what.arithmetic;
  body.shape = remote;
  if (what.kind == OperationKind::get) return remote_->get_strided(node, operation, body, what.local, local);
  return remote_->send_strided(node, operation, what.kind, body, what.local, local, fences_.acknowledgement(node));
}

Status Rma::by_wire(const VectorTransfer& what, Operation& operation) {
  const NodeId node = node_of(what.target);
  GRAPNEL_TRY(before_messages(node));
  if (what.kind == OperationKind::get) return remote_->get_pieces(node, operation, what.pieces);
  return remote_->send_pieces(node, operation, what.kind, what.arithmetic, what.pieces, fences_.acknowledgement(node));
}

}  // namespace grapnel::rma
