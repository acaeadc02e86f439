// Transfers in parts on the wire: data and runs in one message, as the vector forms.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/codec.hpp"
#include "rma/internal/piece_cursor.hpp"
#include "rma/internal/remote.hpp"
#include "rma/kernels/copy.hpp"

namespace grapnel::rma {

Status RemotePath::send_parts(NodeId node, Operation& operation, const PartsHead& head, std::span<const Part> parts,
                              const progress::OnReply& acknowledged) {
  PieceCursor<Part> cursor(runs_, chunk_bytes_, client_.most_whole_bytes(node), parts, head.element_bytes);
  while (!cursor.at_end()) {
    PackedSend* packed = take_packed(operation, cursor.most_bytes());
    Bytes& buffer = packed->buffer;
    std::byte* out = buffer.data();
    cursor.next([&](const Part& part, std::size_t offset, std::size_t bytes) {
      rma::copy(out, static_cast<const std::byte*>(part.source) + offset, bytes);
      out += bytes;
    });
    buffer.resize(cursor.data_bytes());
    buffer.insert(buffer.end(), cursor.runs().begin(), cursor.runs().end());
    const PartsBody body{cursor.base(), cursor.data_bytes(), head.update, head.owner};
    GRAPNEL_TRY(send_packed(node, head.handler, base::bytes_of(body), packed,
                            cursor.at_end() ? acknowledged : progress::OnReply{}));
  }
  return {};
}

Status RemotePath::fetch_parts(NodeId node, Operation& operation, const PartsHead& head, std::span<const Part> parts,
                               bool updates) {
  return updates ? fetch_cut<kMostStripesFetched>(node, operation, head, parts)
                 : fetch_cut<0>(node, operation, head, parts);
}

template <std::size_t kMostStripes>
Status RemotePath::fetch_cut(NodeId node, Operation& operation, const PartsHead& head, std::span<const Part> parts) {
  PieceCursor<Part, kMostStripes> cursor(runs_, chunk_bytes_, client_.most_whole_bytes(node), parts,
                                         head.element_bytes);
  while (!cursor.at_end()) {
    PendingGet* get = take_get(operation, 0);
    PackedSend* packed = take_packed(operation, head.has_data ? cursor.most_bytes() : 0);
    std::byte* out = packed->buffer.data();
    cursor.next([&](const Part& part, std::size_t offset, std::size_t bytes) {
      get->pieces.push_back(
          {static_cast<std::byte*>(part.destination) + offset, static_cast<std::byte*>(part.remote) + offset, bytes});
      if (!head.has_data) return;
      rma::copy(out, static_cast<const std::byte*>(part.source) + offset, bytes);
      out += bytes;
    });
    get->bytes = cursor.data_bytes();
    packed->buffer.resize(head.has_data ? cursor.data_bytes() : 0);
    packed->buffer.insert(packed->buffer.end(), cursor.runs().begin(), cursor.runs().end());
    const PartsBody body{cursor.base(), cursor.data_bytes(), head.update, head.owner};
    GRAPNEL_TRY(send_packed_get(node, head.handler, base::bytes_of(body), packed, get));
  }
  return {};
}

Result<std::uint32_t> RemotePath::obstacle_to_copies(NodeId node) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto answer, ask(node, kCopiesHandler, {}));
  return static_cast<std::uint32_t>(answer.value);
}

}  // namespace grapnel::rma
