// The wire's side of an operation at its origin: cut into chunks, pack, send, and put replies where they belong.
//
// Everything here needs the client's Guard. Buffers that a message still reads are kept until it has left; local memory
// of the caller must stay untouched until the operation's `pending` is 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/codec.hpp"
#include "grapnel/handle.hpp"
#include "grapnel/shape.hpp"
#include "grapnel/status.hpp"
#include "progress/client.hpp"
#include "rma/internal/operation.hpp"
#include "rma/internal/runs.hpp"
#include "rma/messages.hpp"
#include "rma/parts.hpp"

namespace grapnel::rma {

class RemotePath {
 public:
  RemotePath(progress::Client& client, std::size_t chunk_bytes);

  /// `acknowledged` (may be empty) is called when the last message is applied, or refused.
  Status put(NodeId node, Operation& operation, std::uint64_t address, ByteView data,
             const progress::OnReply& acknowledged);
  Status put_bulk(NodeId node, Operation& operation, std::uint64_t address, ByteView data,
                  const progress::OnReply& acknowledged);
  Status accumulate(NodeId node, Operation& operation, const Arithmetic& arithmetic, std::uint64_t address,
                    ByteView data, const progress::OnReply& acknowledged);
  Status get(NodeId node, Operation& operation, std::uint64_t address, ByteSpan destination);
  Status get_bulk(NodeId node, Operation& operation, std::uint64_t address, ByteSpan destination);

  /// At most a chunk, and the signal behind it, in one message.
  Status put_signal(NodeId node, Operation& operation, std::uint64_t address, ByteView data, const Signal& signal,
                    const progress::OnReply& acknowledged);

  /// Shapes of equal total size; `body` holds the remote side and the arithmetic. `signal` (may be null, puts only)
  /// is sent with the last message.
  Status send_strided(NodeId node, Operation& operation, OperationKind kind, const StridedBody& body, const void* local,
                      const Strided& local_shape, const progress::OnReply& acknowledged,
                      const Signal* signal = nullptr);
  Status get_strided(NodeId node, Operation& operation, StridedBody body, void* local, const Strided& local_shape);

  Status send_pieces(NodeId node, Operation& operation, OperationKind kind, const Arithmetic& arithmetic,
                     std::span<const Piece> pieces, const progress::OnReply& acknowledged);
  Status get_pieces(NodeId node, Operation& operation, std::span<const Piece> pieces);

  /// What is the same in all messages of a transfer in parts.
  struct PartsHead {
    progress::HandlerId handler = 0;
    Update update;
    std::int64_t owner = kInSegments;
    std::size_t element_bytes = 1;
    bool has_data = false;  ///< beside the runs
  };
  // remote_parts.cpp
  Status send_parts(NodeId node, Operation& operation, const PartsHead& head, std::span<const Part> parts,
                    const progress::OnReply& acknowledged);
  /// With answers, for the parts' destinations. `updates`: a message lies in kMostStripesFetched stripes at most.
  Status fetch_parts(NodeId node, Operation& operation, const PartsHead& head, std::span<const Part> parts,
                     bool updates);

  // remote_updates.cpp
  Status update(NodeId node, Operation& operation, const Update& update, std::uint64_t address, ByteView operands,
                const progress::OnReply& acknowledged);
  /// `operands` is empty for Operation::none. Chunks end where an answer would cover more than kMostStripesFetched.
  Status fetch_and_update(NodeId node, Operation& operation, const Update& update, std::size_t element_bytes,
                          std::uint64_t address, ByteView operands, ByteSpan old_elements);
  /// Of memory that `owner` has lent, or kInSegments.
  Status compare(NodeId node, Operation& operation, const CompareBody& body, std::int64_t owner, void* old_value);
  /// Lent::obstacle of that node. Waits for the answer.
  Result<std::uint32_t> obstacle_to_copies(NodeId node);

  /// Waits for the answer.
  Result<std::int64_t> rmw(NodeId node, const RmwBody& body);
  /// Where the segment of that node ends that holds the address; 0: none does. Waits for the answer.
  Result<std::uint64_t> locate(NodeId node, std::uint64_t address);

  std::size_t chunk_bytes() const { return chunk_bytes_; }

 private:
  Result<progress::Client::Answer> ask(NodeId node, progress::HandlerId handler, ByteView body);
  // A packed payload, alive until its message has left.
  struct PackedSend {
    RemotePath* path;
    Operation* operation;
    Bytes buffer;
  };
  // Where a reply's data belongs.
  struct PendingGet {
    RemotePath* path;
    Operation* operation;
    std::byte* base = nullptr;
    Strided shape;
    std::size_t first = 0;
    std::size_t bytes = 0;
    bool is_in_body = false;    ///< the front of the reply's body, and not its payload
    std::vector<Piece> pieces;  ///< not empty: a vector get; `shape` is unused
  };
  /// What the next message takes of a transfer.
  static std::size_t cut(std::size_t left, std::size_t most);
  /// A write in messages of `most_bytes` of data each; `body_of(target)` is the body of the one for these bytes.
  template <typename BodyOf>
  Status write_cut(NodeId node, Operation& operation, progress::HandlerId handler, std::uint64_t address, ByteView data,
                   const progress::OnReply& acknowledged, std::size_t most_bytes, BodyOf body_of) {
    while (!data.empty()) {
      const std::size_t bytes = cut(data.size(), most_bytes);
      const auto body = body_of(ContiguousBody{address, bytes});
      const bool last = bytes == data.size();
      GRAPNEL_TRY(send_plain(node, operation, handler, base::bytes_of(body), data.first(bytes),
                             last ? acknowledged : progress::OnReply{}));
      address += bytes;
      data = data.subspan(bytes);
    }
    return {};
  }
  Status get_cut(NodeId node, Operation& operation, std::uint64_t address, ByteSpan destination,
                 std::size_t most_bytes);
  Status send_plain(NodeId node, Operation& operation, progress::HandlerId handler, ByteView body, ByteView data,
                    const progress::OnReply& acknowledged);
  Status send_packed(NodeId node, progress::HandlerId handler, ByteView body, PackedSend* packed,
                     const progress::OnReply& acknowledged);
  Status send_packed_get(NodeId node, progress::HandlerId handler, ByteView body, PackedSend* packed, PendingGet* get);
  template <std::size_t kMostStripes>
  Status fetch_cut(NodeId node, Operation& operation, const PartsHead& head, std::span<const Part> parts);
  Status send_get(NodeId node, progress::HandlerId handler, ByteView body, PendingGet* get, ByteView operands = {});
  PackedSend* take_packed(Operation& operation, std::size_t bytes);
  PendingGet* take_get(Operation& operation, std::size_t bytes);
  static void packed_left(void* context, const Status& outcome);
  static void reply_arrived(void* context, const progress::Reply& reply);

  progress::Client& client_;
  const std::size_t chunk_bytes_;
  std::vector<std::unique_ptr<PackedSend>> packed_;  ///< all, in use or not
  std::vector<PackedSend*> free_packed_;
  std::vector<std::unique_ptr<PendingGet>> gets_;
  std::vector<PendingGet*> free_gets_;
  RunWriter runs_;  ///< of a PieceCursor
};

}  // namespace grapnel::rma
