// Updates of another node's memory at their origin: cut into chunks and sent; a fetching one as a get is.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/codec.hpp"
#include "rma/internal/remote.hpp"
#include "rma/stripes.hpp"

namespace grapnel::rma {

Status RemotePath::update(NodeId node, Operation& operation, const Update& update, std::uint64_t address,
                          ByteView operands, const progress::OnReply& acknowledged) {
  return write_cut(node, operation, kUpdateHandler, address, operands, acknowledged, chunk_bytes_,
                   [&](const ContiguousBody& target) {
                     return UpdateBody{target, update};
                   });
}

Status RemotePath::fetch_and_update(NodeId node, Operation& operation, const Update& update, std::size_t element_bytes,
                                    std::uint64_t address, ByteView operands, ByteSpan old_elements) {
  constexpr std::size_t kMost = kMostStripesFetched * Stripes::kStripeBytes;
  while (!old_elements.empty()) {
    const std::size_t left = kMost - address % Stripes::kStripeBytes;
    const std::size_t most = std::max(std::min(left, chunk_bytes_) / element_bytes * element_bytes, element_bytes);
    const std::size_t bytes = std::min(old_elements.size(), most);
    const UpdateBody body{{address, bytes}, update};
    PendingGet* get = take_get(operation, bytes);
    get->base = old_elements.data();
    get->shape.levels = 0;
    get->shape.count[0] = static_cast<std::int64_t>(bytes);
    GRAPNEL_TRY(send_get(node, kFetchingUpdateHandler, base::bytes_of(body), get,
                         operands.empty() ? operands : operands.first(bytes)));
    address += bytes;
    old_elements = old_elements.subspan(bytes);
    if (!operands.empty()) operands = operands.subspan(bytes);
  }
  return {};
}

Status RemotePath::compare(NodeId node, Operation& operation, const CompareBody& body, std::int64_t owner,
                           void* old_value) {
  PendingGet* get = take_get(operation, body.target.bytes);
  get->base = static_cast<std::byte*>(old_value);
  get->shape.levels = 0;
  get->shape.count[0] = static_cast<std::int64_t>(body.target.bytes);
  get->is_in_body = true;
  if (owner == kInSegments) return send_get(node, kCompareHandler, base::bytes_of(body), get);
  const CompareLentBody lent{body, owner};
  return send_get(node, kCompareLentHandler, base::bytes_of(lent), get);
}

}  // namespace grapnel::rma
