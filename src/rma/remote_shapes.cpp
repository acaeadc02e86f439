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

// Walks over pieces and cuts off what one message takes: a chunk of data, with its runs beside it. `cut` and `runs` are
// the path's, so that memory once taken is used again; they are a message's only until the next wait, which lets other
// threads in.
class RemotePath::PieceCursor {
 public:
  PieceCursor(RemotePath& path, NodeId node, std::span<const Piece> pieces, std::size_t element_bytes)
      : pieces_(pieces),
        chunk_bytes_(path.chunk_bytes_),
        message_bytes_(path.client_.most_whole_bytes(node)),
        element_bytes_(element_bytes),
        cut_(path.cut_),
        runs_(path.runs_) {
    skip_empty();
  }

  /// Goes to the next message; false at the end.
  bool next() {
    cut_.clear();
    data_bytes_ = 0;
    if (at_end()) return false;
    base_ = address_of(pieces_[at_]);
    runs_.start(base_);
    for (std::size_t bytes = fitting(); bytes > 0; bytes = fitting()) take(bytes);
    return true;
  }
  std::span<const Piece> cut() const { return cut_; }
  /// Gives the message's pieces away, and takes what it may fill next time.
  void swap_cut(std::vector<Piece>& pieces) { cut_.swap(pieces); }
  /// The message's body.
  VectorBody body(const Arithmetic& arithmetic) const { return {base_, data_bytes_, arithmetic}; }
  ByteView runs() const { return runs_.view(); }
  std::size_t data_bytes() const { return data_bytes_; }
  /// Whether this is the last message.
  bool at_end() const { return at_ == pieces_.size(); }

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
    const Piece& piece = pieces_[at_];
    const std::uint64_t address = address_of(piece);
    cut_.push_back({static_cast<std::byte*>(piece.local) + offset_, reinterpret_cast<void*>(address), bytes});
    runs_.add({address, bytes});
    data_bytes_ += bytes;
    offset_ += bytes;
    if (offset_ < piece.bytes) return;
    ++at_;
    offset_ = 0;
    skip_empty();
  }

  void skip_empty() {
    while (at_ < pieces_.size() && pieces_[at_].bytes == 0) ++at_;
  }

  std::span<const Piece> pieces_;
  const std::size_t chunk_bytes_, message_bytes_, element_bytes_;
  std::size_t at_ = 0, offset_ = 0;
  std::uint64_t base_ = 0;
  std::size_t data_bytes_ = 0;
  std::vector<Piece>& cut_;
  RunWriter& runs_;
};

Status RemotePath::send_pieces(NodeId node, Operation& operation, OperationKind kind, const Arithmetic& arithmetic,
                               std::span<const Piece> pieces, const progress::OnReply& acknowledged) {
  const bool put = kind == OperationKind::put;
  PieceCursor cursor(*this, node, pieces, put ? 1 : element_bytes(arithmetic.type));
  while (cursor.next()) {
    const VectorBody body = cursor.body(arithmetic);
    PackedSend* packed = take_packed(operation, cursor.data_bytes() + cursor.runs().size());
    std::byte* out = packed->buffer.data();
    for (const Piece& piece : cursor.cut()) {
      rma::copy(out, piece.local, piece.bytes);
      out += piece.bytes;
    }
    std::memcpy(out, cursor.runs().data(), cursor.runs().size());
    GRAPNEL_TRY(send_packed(node, put ? kPutVectorHandler : kAccumulateVectorHandler, base::bytes_of(body), packed,
                            cursor.at_end() ? acknowledged : progress::OnReply{}));
  }
  return {};
}

Status RemotePath::get_pieces(NodeId node, Operation& operation, std::span<const Piece> pieces) {
  PieceCursor cursor(*this, node, pieces, 1);
  while (cursor.next()) {
    const VectorBody body = cursor.body({});
    // Two things must end: the message, which reads the runs, and the reply.
    PackedSend* runs = take_packed(operation, cursor.runs().size());
    std::memcpy(runs->buffer.data(), cursor.runs().data(), cursor.runs().size());
    PendingGet* get = take_get(operation, cursor.data_bytes());
    cursor.swap_cut(get->pieces);
    progress::Order order;
    order.handler = kGetVectorHandler;
    order.body = base::bytes_of(body);
    order.payload = runs->buffer;
    order.whole = true;
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
