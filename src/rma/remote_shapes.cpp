// Strided and vector transfers on the wire: cut, pack, send.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/codec.hpp"
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

// Walks over pieces and cuts off what one message takes: a chunk of data, with its runs beside it. `runs` is the
// path's, so that memory once taken is used again; it is a message's only until the next wait, which lets other threads
// in.
class RemotePath::PieceCursor {
 public:
  PieceCursor(RemotePath& path, NodeId node, std::span<const Piece> pieces, std::size_t element_bytes)
      : pieces_(pieces),
        chunk_bytes_(path.chunk_bytes_),
        message_bytes_(path.client_.most_whole_bytes(node)),
        element_bytes_(element_bytes),
        runs_(path.runs_) {
    for (const Piece& piece : pieces) left_bytes_ += piece.bytes;
    skip_empty();
  }

  /// Whether the last message was cut off.
  bool at_end() const { return at_ == pieces_.size(); }
  /// Data of the next message at most.
  std::size_t most_bytes() const { return std::min(left_bytes_, chunk_bytes_); }

  /// Cuts off the next message: visit(piece) for each part of a piece in it, in order.
  template <typename Visit>
  void next(const Visit& visit) {
    base_ = address_of(pieces_[at_]);
    data_bytes_ = 0;
    runs_.start(base_);
    for (std::size_t bytes = fitting(); bytes > 0; bytes = fitting()) {
      const Piece& piece = pieces_[at_];
      const std::uint64_t address = address_of(piece);
      visit(Piece{static_cast<std::byte*>(piece.local) + offset_, reinterpret_cast<void*>(address), bytes});
      runs_.add({address, bytes});
      take(bytes);
    }
    left_bytes_ -= data_bytes_;
  }
  /// The message's body, runs and length of data.
  VectorBody body(const Arithmetic& arithmetic) const { return {base_, data_bytes_, arithmetic}; }
  ByteView runs() const { return runs_.view(); }
  std::size_t data_bytes() const { return data_bytes_; }

 private:
  std::uint64_t address_of(const Piece& piece) const { return reinterpret_cast<std::uint64_t>(piece.remote) + offset_; }

  // Of the present piece; 0 where the message is full, or there is none.
  std::size_t fitting() const {
    if (at_end() || !runs_.reaches(address_of(pieces_[at_]))) return 0;
    // Not less than nothing: a run is taken only where the longest one and an element had room.
    const std::size_t room = message_bytes_ - data_bytes_ - runs_.view().size();
    if (room < RunWriter::kMostBytes + element_bytes_) return 0;
    const std::size_t most = std::min(chunk_bytes_ - data_bytes_, room - RunWriter::kMostBytes);
    return std::min(pieces_[at_].bytes - offset_, most & ~(element_bytes_ - 1));  // elements are powers of two
  }

  void take(std::size_t bytes) {
    data_bytes_ += bytes;
    offset_ += bytes;
    if (offset_ < pieces_[at_].bytes) return;
    ++at_;
    offset_ = 0;
    skip_empty();
  }

  void skip_empty() {
    while (at_ < pieces_.size() && pieces_[at_].bytes == 0) ++at_;
  }

  const std::span<const Piece> pieces_;
  const std::size_t chunk_bytes_, message_bytes_, element_bytes_;
  std::size_t left_bytes_ = 0;
  std::size_t at_ = 0, offset_ = 0;
  std::uint64_t base_ = 0;
  std::size_t data_bytes_ = 0;
  RunWriter& runs_;
};

Status RemotePath::send_pieces(NodeId node, Operation& operation, OperationKind kind, const Arithmetic& arithmetic,
                               std::span<const Piece> pieces, const progress::OnReply& acknowledged) {
  const bool put = kind == OperationKind::put;
  PieceCursor cursor(*this, node, pieces, put ? 1 : element_bytes(arithmetic.type));
  while (!cursor.at_end()) {
    PackedSend* packed = take_packed(operation, cursor.most_bytes());
    Bytes& buffer = packed->buffer;
    std::byte* out = buffer.data();
    cursor.next([&](const Piece& piece) {
      rma::copy(out, piece.local, piece.bytes);
      out += piece.bytes;
    });
    buffer.resize(cursor.data_bytes());
    buffer.insert(buffer.end(), cursor.runs().begin(), cursor.runs().end());
    const VectorBody body = cursor.body(arithmetic);
    GRAPNEL_TRY(send_packed(node, put ? kPutVectorHandler : kAccumulateVectorHandler, base::bytes_of(body), packed,
                            cursor.at_end() ? acknowledged : progress::OnReply{}));
  }
  return {};
}

Status RemotePath::get_pieces(NodeId node, Operation& operation, std::span<const Piece> pieces) {
  PieceCursor cursor(*this, node, pieces, 1);
  while (!cursor.at_end()) {
    PendingGet* get = take_get(operation, 0);
    cursor.next([&](const Piece& piece) { get->pieces.push_back(piece); });
    get->bytes = cursor.data_bytes();
    // Two things must end: the message, which reads the runs, and the reply.
    PackedSend* runs = take_packed(operation, 0);
    runs->buffer.assign(cursor.runs().begin(), cursor.runs().end());
    const VectorBody body = cursor.body({});
    progress::OutgoingRequest request;
    request.handler = kGetVectorHandler;
    request.body = base::bytes_of(body);
    request.payload = runs->buffer;
    request.whole = true;
    request.reply_bytes = get->bytes;
    request.on_reply = {reply_arrived, get};
    request.sent = {packed_left, runs};
    operation.pending += 2;
    const auto sent = client_.send(node, request);
    if (!sent || *sent == transport::Sent::done) packed_left(runs, sent.status());
    GRAPNEL_TRY(sent.status());
  }
  return {};
}

}  // namespace grapnel::rma
