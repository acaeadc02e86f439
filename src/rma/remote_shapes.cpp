// Strided and vector transfers on the wire: cut, pack, send.
#include <cstring>

#include "base/codec.hpp"
#include "rma/kernels/copy.hpp"
#include "rma/kernels/strided.hpp"
#include "rma/remote.hpp"

namespace grapnel::rma {

Status RemotePath::send_strided(NodeId node, Operation& operation, OperationKind kind, const StridedBody& body,
                                const void* local, const Strided& local_shape, const progress::OnReply& acknowledged,
                                const Signal* signal) {
  const auto handler = kind == OperationKind::put ? kPutStridedHandler : kAccumulateStridedHandler;
  const auto total = static_cast<std::size_t>(local_shape.total_bytes());
  StridedSignalBody cut{body, signal != nullptr ? *signal : Signal{}};
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

// Walks over pieces and cuts off what one message takes: runs and data together at most a chunk.
class RemotePath::PieceCursor {
 public:
  PieceCursor(std::span<const Piece> pieces, std::size_t chunk_bytes, std::size_t element_bytes)
      : pieces_(pieces), chunk_bytes_(chunk_bytes), element_bytes_(element_bytes) {
    skip_empty();
  }

  /// The next message's pieces; empty at the end.
  std::vector<Piece> next() {
    std::vector<Piece> cut;
    data_bytes_ = 0;
    std::size_t room = chunk_bytes_;
    while (at_ < pieces_.size() && room >= sizeof(VectorRun) + element_bytes_) {
      const Piece& piece = pieces_[at_];
      const std::size_t most = (room - sizeof(VectorRun)) / element_bytes_ * element_bytes_;
      const std::size_t bytes = std::min(piece.bytes - offset_, most);
      cut.push_back(
          {static_cast<std::byte*>(piece.local) + offset_, static_cast<std::byte*>(piece.remote) + offset_, bytes});
      room -= sizeof(VectorRun) + bytes;
      data_bytes_ += bytes;
      offset_ += bytes;
      if (offset_ == piece.bytes) {
        ++at_;
        offset_ = 0;
        skip_empty();
      }
    }
    return cut;
  }
  std::size_t data_bytes() const { return data_bytes_; }
  /// Whether that was the last message.
  bool at_end() const { return at_ == pieces_.size(); }

 private:
  void skip_empty() {
    while (at_ < pieces_.size() && pieces_[at_].bytes == 0) ++at_;
  }

  std::span<const Piece> pieces_;
  const std::size_t chunk_bytes_, element_bytes_;
  std::size_t at_ = 0, offset_ = 0, data_bytes_ = 0;
};

namespace {

std::byte* write_runs(std::byte* out, std::span<const Piece> pieces) {
  for (const Piece& piece : pieces) {
    const VectorRun run{reinterpret_cast<std::uint64_t>(piece.remote), piece.bytes};
    std::memcpy(out, &run, sizeof run);
    out += sizeof run;
  }
  return out;
}

}  // namespace

Status RemotePath::send_pieces(NodeId node, Operation& operation, OperationKind kind, const Arithmetic& arithmetic,
                               std::span<const Piece> pieces, const progress::OnReply& acknowledged) {
  const bool put = kind == OperationKind::put;
  PieceCursor cursor(pieces, chunk_bytes_, put ? 1 : element_bytes(arithmetic.type));
  for (auto cut = cursor.next(); !cut.empty(); cut = cursor.next()) {
    const VectorBody body{cut.size(), cursor.data_bytes(), arithmetic};
    PackedSend* packed = take_packed(operation, cut.size() * sizeof(VectorRun) + cursor.data_bytes());
    std::byte* out = write_runs(packed->buffer.data(), cut);
    for (const Piece& piece : cut) {
      rma::copy(out, piece.local, piece.bytes);
      out += piece.bytes;
    }
    GRAPNEL_TRY(send_packed(node, put ? kPutVectorHandler : kAccumulateVectorHandler, base::bytes_of(body), packed,
                            cursor.at_end() ? acknowledged : progress::OnReply{}));
  }
  return {};
}

Status RemotePath::get_pieces(NodeId node, Operation& operation, std::span<const Piece> pieces) {
  PieceCursor cursor(pieces, chunk_bytes_, 1);
  for (auto cut = cursor.next(); !cut.empty(); cut = cursor.next()) {
    const VectorBody body{cut.size(), cursor.data_bytes(), {}};
    // Two things must end: the message, which reads the runs, and the reply.
    PackedSend* runs = take_packed(operation, cut.size() * sizeof(VectorRun));
    write_runs(runs->buffer.data(), cut);
    PendingGet* get = take_get(operation, cursor.data_bytes());
    get->pieces = std::move(cut);
    progress::Order order;
    order.handler = kGetVectorHandler;
    order.body = base::bytes_of(body);
    order.payload = runs->buffer;
    order.reply_bytes = get->bytes;
    order.on_reply = {reply_arrived, get};
    order.sent = {packed_left, runs};
    operation.pending += 2;
    const auto sent = client_.send(node, order);
    if (!sent || *sent == transport::Sent::done) packed_left(runs, sent.status());
    GRAPNEL_TRY(sent.status());
  }
  return {};
}

}  // namespace grapnel::rma
