// A put with a signal: the 32-bit word at the target is set when the data is there.
//
// Between nodes the word travels in the last message of the data. The server executes the messages of an origin in the
// order sent, so nothing else orders them; what went natively before, the server does not see, and it is flushed first.
// Same node: the copy, then a release store (streaming copies end with their own store fence).
// Cost: ⌈bytes/chunk⌉ messages, no round trip. On fabrics with a put of their own all but the last chunk goes that way,
// and a flush; where it is long enough for bulk, in bulk, and a round trip.
// Source: ARMCI's Put_flag; thesis, section 1 (put, fence, put is what it replaces).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "rma/rma.hpp"

namespace grapnel::rma {

Result<Rma::Route> Rma::route(const SignalledPut& what) const {
  if (!is_aligned_flag(what.flag)) {
    return Status(Code::invalid_argument,
                  fmt::format("signal: {} is not aligned to {} bytes", what.flag, sizeof what.value));
  }
  const auto data = route(static_cast<const StridedTransfer&>(what));
  if (!data) return data.status();
  return route(what.flag, sizeof what.value, what.target, "signal");
}

Status Rma::put_and_signal_elsewhere(const void* source, void* remote, std::size_t bytes, void* flag,
                                     std::int32_t value, Rank target) {
  const Strided shape = Strided::contiguous(static_cast<std::int64_t>(bytes));
  SignalledPut what;
  what.kind = OperationKind::put;
  what.local = const_cast<void*>(source);
  what.local_shape = &shape;
  what.remote = remote;
  what.remote_shape = &shape;
  what.target = target;
  what.flag = flag;
  what.value = value;
  return put_and_signal(what);
}

Status Rma::by_shared_memory(const SignalledPut& what) {
  GRAPNEL_TRY(by_shared_memory(static_cast<const StridedTransfer&>(what)));
  set_signal(what.flag, what.value);
  return {};
}

Status Rma::by_wire(const SignalledPut& what, Operation& operation) {
  const NodeId node = node_of(what.target);
  const Signal signal{reinterpret_cast<std::uint64_t>(what.flag), what.value};
  const Strided local = normalised(*what.local_shape);
  const Strided remote = normalised(*what.remote_shape);
  const auto total = static_cast<std::size_t>(local.total_bytes());
  const std::size_t chunk = remote_->chunk_bytes();
  auto* from = static_cast<std::byte*>(what.local);
  auto* to = static_cast<std::byte*>(what.remote);
  std::size_t before = 0;  // bytes of a row that go ahead of the message with the signal
  if (local.levels == 0 && remote.levels == 0) {
    before = total > chunk ? (total - 1) / chunk * chunk : 0;
    if (before > 0) {
      GRAPNEL_TRY(by_wire(ContiguousTransfer{what.kind, {}, from, to, before, what.target}, operation));
    }
  } else if (total > chunk && ways_.choose(what.kind, Form::strided, row_bytes(local, remote)) == WireWay::native) {
    before = total;
    GRAPNEL_TRY(by_wire(static_cast<const StridedTransfer&>(what), operation));
  } else {
    GRAPNEL_TRY(before_messages(node));
    StridedBody body;
    body.base = reinterpret_cast<std::uint64_t>(to);
    body.shape = remote;
    return remote_->send_strided(node, operation, what.kind, body, from, local, fences_.acknowledgement(node), &signal);
  }
  GRAPNEL_TRY(before_messages(node));
  const std::size_t last = total - before;
  return remote_->put_signal(node, operation, reinterpret_cast<std::uint64_t>(to) + (last > 0 ? before : 0),
                             {from + (last > 0 ? before : 0), last}, signal, fences_.acknowledgement(node));
}

}  // namespace grapnel::rma
