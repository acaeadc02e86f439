// SPDX-License-Identifier: Apache-2.0
#include "rma/internal/remote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "rma/kernels/copy.hpp"
#include "rma/kernels/strided.hpp"

namespace grapnel::rma {
namespace {

// One message of an operation has left.
void message_left(void* context, const Status& outcome) {
  auto& operation = *static_cast<Operation*>(context);
  --operation.pending;
  if (!outcome.ok()) operation.fail(outcome);
}

}  // namespace

RemotePath::RemotePath(progress::Client& client, std::size_t chunk_bytes)
    // A chunk never ends inside an element, whatever its type.
    : client_(client), chunk_bytes_(chunk_bytes / kMostElementBytes * kMostElementBytes) {}

// A chunk of single bytes, as far from each other as may be.
static_assert((RunWriter::kMostGapBytes + 1) * 64 * base::kKiB <= transport::kMaxWholeBytes);

// What the next message takes of a transfer. No small rest behind bulk: it would be an ordinary message, longer than a
// chunk, for which the server's window need not have room.
std::size_t RemotePath::cut(std::size_t left, std::size_t most) {
  constexpr std::size_t kOrdinary = transport::kMaxPayloadBytes;
  const bool small_rest = most > kOrdinary && left > most && left - most <= kOrdinary;
  return small_rest ? left / 2 : std::min(left, most);
}

Status RemotePath::send_plain(NodeId node, Operation& operation, progress::HandlerId handler, ByteView body,
                              ByteView data, const progress::OnReply& acknowledged) {
  progress::OutgoingRequest request;
  request.handler = handler;
  request.body = body;
  request.payload = data;
  request.write = true;
  request.on_reply = acknowledged;
  request.sent = {message_left, &operation};
  ++operation.pending;
  const auto sent = client_.send(node, request);
  if (!sent || *sent == transport::Sent::done) --operation.pending;
  operation.sent_to(node);
  return sent.status();
}

Status RemotePath::put(NodeId node, Operation& operation, std::uint64_t address, ByteView data,
                       const progress::OnReply& acknowledged) {
  return write_cut(node, operation, kPutHandler, address, data, acknowledged, chunk_bytes_, std::identity());
}

Status RemotePath::put_bulk(NodeId node, Operation& operation, std::uint64_t address, ByteView data,
                            const progress::OnReply& acknowledged) {
  return write_cut(node, operation, kPutHandler, address, data, acknowledged, transport::kMaxBulkBytes,
                   std::identity());
}

Status RemotePath::accumulate(NodeId node, Operation& operation, const Arithmetic& arithmetic, std::uint64_t address,
                              ByteView data, const progress::OnReply& acknowledged) {
  return write_cut(node, operation, kAccumulateHandler, address, data, acknowledged, chunk_bytes_,
                   [&](const ContiguousBody& target) {
                     return AccumulateBody{target, arithmetic};
                   });
}

Status RemotePath::get(NodeId node, Operation& operation, std::uint64_t address, ByteSpan destination) {
  return get_cut(node, operation, address, destination, chunk_bytes_);
}

Status RemotePath::get_bulk(NodeId node, Operation& operation, std::uint64_t address, ByteSpan destination) {
  return get_cut(node, operation, address, destination, transport::kMaxBulkBytes);
}

Status RemotePath::get_cut(NodeId node, Operation& operation, std::uint64_t address, ByteSpan destination,
                           std::size_t most_bytes) {
  while (!destination.empty()) {
    const std::size_t bytes = cut(destination.size(), most_bytes);
    const ContiguousBody body{address, bytes};
    PendingGet* get = take_get(operation, bytes);
    get->base = destination.data();
    get->shape.levels = 0;
    get->shape.count[0] = static_cast<std::int64_t>(bytes);
    GRAPNEL_TRY(send_get(node, kGetHandler, base::bytes_of(body), get));
    address += bytes;
    destination = destination.subspan(bytes);
  }
  return {};
}

Status RemotePath::put_signal(NodeId node, Operation& operation, std::uint64_t address, ByteView data,
                              const Signal& signal, const progress::OnReply& acknowledged) {
  const PutSignalBody body{{address, data.size()}, signal};
  return send_plain(node, operation, kPutSignalHandler, base::bytes_of(body), data, acknowledged);
}

Result<progress::Client::Answer> RemotePath::ask(NodeId node, progress::HandlerId handler, ByteView body) {
  progress::OutgoingRequest request;
  request.handler = handler;
  request.body = body;
  return client_.ask(node, request);
}

Result<std::int64_t> RemotePath::rmw(NodeId node, const RmwBody& body) {
  const auto answer = ask(node, kRmwHandler, base::bytes_of(body));
  if (!answer) return answer.status();
  if (answer->code != progress::ReplyCode::answer) {
    return Status(Code::refused,
                  fmt::format("node {} refused an atomic operation at {:#x}", index(node), body.address));
  }
  return answer->value;
}

Result<std::uint64_t> RemotePath::locate(NodeId node, std::uint64_t address) {
  const LocateBody body{address};
  GRAPNEL_ASSIGN_OR_RETURN(const auto answer, ask(node, kLocateHandler, base::bytes_of(body)));
  return static_cast<std::uint64_t>(answer.value);
}

Status RemotePath::send_get(NodeId node, progress::HandlerId handler, ByteView body, PendingGet* get,
                            ByteView operands) {
  progress::OutgoingRequest request;
  request.handler = handler;
  request.body = body;
  request.reply_bytes = get->bytes;
  request.on_reply = {reply_arrived, get};
  if (get->bytes > transport::kMaxPayloadBytes) request.on_reply.place = {get->base, get->bytes};
  Operation& operation = *get->operation;  // the answer may arrive, and give `get` back, from within `send`
  ++operation.pending;
  if (operands.empty()) return client_.send(node, request).status();
  request.payload = operands;
  request.sent = {message_left, &operation};
  ++operation.pending;
  const auto sent = client_.send(node, request);
  if (!sent || *sent == transport::Sent::done) --operation.pending;
  return sent.status();
}

void RemotePath::reply_arrived(void* context, const progress::Reply& reply) {
  auto& get = *static_cast<PendingGet*>(context);
  const ByteView data = get.is_in_body ? reply.body.first(std::min(get.bytes, reply.body.size())) : reply.payload;
  if (reply.code != progress::ReplyCode::answer || data.size() != get.bytes) {
    get.operation->fail(
        Status(Code::refused, fmt::format("node {} refused a get of {} bytes", index(reply.node), get.bytes)));
  } else if (get.bytes > transport::kMaxPayloadBytes) {
    // It landed where it belongs.
  } else if (get.pieces.empty()) {
    unpack(get.base, get.shape, get.first, data.data(), get.bytes);
  } else {
    const std::byte* from = data.data();
    for (const Piece& piece : get.pieces) {
      rma::copy(piece.local, from, piece.bytes);
      from += piece.bytes;
    }
  }
  get.pieces.clear();
  --get.operation->pending;  // last: a thread that sees it may use the data
  get.path->free_gets_.push_back(&get);
}

RemotePath::PendingGet* RemotePath::take_get(Operation& operation, std::size_t bytes) {
  if (free_gets_.empty()) {
    gets_.push_back(std::make_unique<PendingGet>());
    free_gets_.push_back(gets_.back().get());
  }
  PendingGet* get = free_gets_.back();
  free_gets_.pop_back();
  get->path = this;
  get->operation = &operation;
  get->first = 0;
  get->bytes = bytes;
  get->is_in_body = false;
  return get;
}

RemotePath::PackedSend* RemotePath::take_packed(Operation& operation, std::size_t bytes) {
  if (free_packed_.empty()) {
    packed_.push_back(std::make_unique<PackedSend>());
    free_packed_.push_back(packed_.back().get());
  }
  PackedSend* packed = free_packed_.back();
  free_packed_.pop_back();
  packed->path = this;
  packed->operation = &operation;
  packed->buffer.resize(bytes);
  return packed;
}

void RemotePath::packed_left(void* context, const Status& outcome) {
  auto& packed = *static_cast<PackedSend*>(context);
  message_left(packed.operation, outcome);
  packed.path->free_packed_.push_back(&packed);
}

Status RemotePath::send_packed(NodeId node, progress::HandlerId handler, ByteView body, PackedSend* packed,
                               const progress::OnReply& acknowledged) {
  progress::OutgoingRequest request;
  request.handler = handler;
  request.body = body;
  request.payload = packed->buffer;
  request.whole = true;
  request.write = true;
  request.on_reply = acknowledged;
  request.sent = {packed_left, packed};
  Operation& operation = *packed->operation;
  ++operation.pending;
  const auto sent = client_.send(node, request);
  if (!sent || *sent == transport::Sent::done) packed_left(packed, sent.status());
  operation.sent_to(node);
  return sent.status();
}

}  // namespace grapnel::rma
