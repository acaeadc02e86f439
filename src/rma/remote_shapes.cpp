// Strided and vector transfers on the wire: cut, pack, send.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/codec.hpp"
#include "rma/internal/piece_cursor.hpp"
#include "rma/internal/remote.hpp"
#include "rma/kernels/copy.hpp"
#include "rma/kernels/strided.hpp"

namespace grapnel::rma {

Status RemotePath::send_strided(NodeId node, Operation& operation, OperationKind kind, const StridedBody& body,
                                const void* local, const Strided& local_shape, const progress::OnReply& acknowledged,
                                const Signal* signal) {
  const auto handler = kind == OperationKind::put ? kPutStridedHandler : kAccumulateStridedHandler;
  const auto total = static_cast<std::size_t>(local_shape.total_bytes());
  StridedSignalBody cut{body, signal != nullptr ? *signal : Signal{}};
  clear_padding(cut.target.shape);
  for (std::size_t first = 0; first < total; first += chunk_bytes_) {
    const std::size_t bytes = std::min(total - first, chunk_bytes_);
    PackedSend* packed = take_packed(operation, bytes);
    pack(packed->buffer.data(), local, local_shape, first, bytes);
    cut.target.first = first;
    cut.target.bytes = bytes;
    const bool last = first + bytes == total;
    const progress::OnReply reply = last ? acknowledged : progress::OnReply{};
    GRAPNEL_TRY(last && signal != nullptr
                    ? send_packed(node, kPutStridedSignalHandler, base::bytes_of(cut), packed, reply)
                    : send_packed(node, handler, base::bytes_of(cut.target), packed, reply));
  }
  return {};
}

Status RemotePath::get_strided(NodeId node, Operation& operation, StridedBody body, void* local,
                               const Strided& local_shape) {
  clear_padding(body.shape);
  const auto total = static_cast<std::size_t>(local_shape.total_bytes());
  for (std::size_t first = 0; first < total; first += chunk_bytes_) {
    PendingGet* get = take_get(operation, std::min(total - first, chunk_bytes_));
    get->base = static_cast<std::byte*>(local);
    get->shape = local_shape;
    get->first = first;
    body.first = first;
    body.bytes = get->bytes;
    GRAPNEL_TRY(send_get(node, kGetStridedHandler, base::bytes_of(body), get));
  }
  return {};
}

Status RemotePath::send_pieces(NodeId node, Operation& operation, OperationKind kind, const Arithmetic& arithmetic,
                               std::span<const Piece> pieces, const progress::OnReply& acknowledged) {
  const bool put = kind == OperationKind::put;
  PieceCursor<Piece> cursor(runs_, chunk_bytes_, client_.most_whole_bytes(node), pieces,
                            put ? 1 : element_bytes(arithmetic.type));
  while (!cursor.at_end()) {
    PackedSend* packed = take_packed(operation, cursor.most_bytes());
    Bytes& buffer = packed->buffer;
    std::byte* out = buffer.data();
    cursor.next([&](const Piece& piece, std::size_t offset, std::size_t bytes) {
      rma::copy(out, static_cast<const std::byte*>(piece.local) + offset, bytes);
      out += bytes;
    });
    buffer.resize(cursor.data_bytes());
    buffer.insert(buffer.end(), cursor.runs().begin(), cursor.runs().end());
    const VectorBody body{cursor.base(), cursor.data_bytes(), arithmetic};
    GRAPNEL_TRY(send_packed(node, put ? kPutVectorHandler : kAccumulateVectorHandler, base::bytes_of(body), packed,
                            cursor.at_end() ? acknowledged : progress::OnReply{}));
  }
  return {};
}

// Two things must end: the message, which reads the packed bytes, and the reply.
Status RemotePath::send_packed_get(NodeId node, progress::HandlerId handler, ByteView body, PackedSend* packed,
                                   PendingGet* get) {
  progress::OutgoingRequest request;
  request.handler = handler;
  request.body = body;
  request.payload = packed->buffer;
  request.whole = true;
  request.reply_bytes = get->bytes;
  request.on_reply = {reply_arrived, get};
  request.sent = {packed_left, packed};
  packed->operation->pending += 2;
  const auto sent = client_.send(node, request);
  if (!sent || *sent == transport::Sent::done) packed_left(packed, sent.status());
  return sent.status();
}

Status RemotePath::get_pieces(NodeId node, Operation& operation, std::span<const Piece> pieces) {
  PieceCursor<Piece> cursor(runs_, chunk_bytes_, client_.most_whole_bytes(node), pieces, 1);
  while (!cursor.at_end()) {
    PendingGet* get = take_get(operation, 0);
    cursor.next([&](const Piece& piece, std::size_t offset, std::size_t bytes) {
      get->pieces.push_back(
          {static_cast<std::byte*>(piece.local) + offset, static_cast<std::byte*>(piece.remote) + offset, bytes});
    });
    get->bytes = cursor.data_bytes();
    PackedSend* runs = take_packed(operation, 0);
    runs->buffer.assign(cursor.runs().begin(), cursor.runs().end());
    const VectorBody body{cursor.base(), cursor.data_bytes(), {}};
    GRAPNEL_TRY(send_packed_get(node, kGetVectorHandler, base::bytes_of(body), runs, get));
  }
  return {};
}

}  // namespace grapnel::rma
