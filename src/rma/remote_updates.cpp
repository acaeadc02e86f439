// Updates of another node's memory at their origin: cut into chunks and sent; a fetching one as a get is.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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

Result<std::uint64_t> RemotePath::compare(NodeId node, const CompareBody& body, std::int64_t owner) {
  const CompareLentBody lent{body, owner};
  GRAPNEL_ASSIGN_OR_RETURN(const auto answer, owner == kInSegments
                                                  ? ask(node, kCompareHandler, base::bytes_of(body))
                                                  : ask(node, kCompareLentHandler, base::bytes_of(lent)));
  if (answer.code == progress::ReplyCode::answer) return static_cast<std::uint64_t>(answer.value);
  return Status(Code::refused, fmt::format("node {} refused to compare {} bytes at {:#x}", index(node),
                                           body.target.bytes, body.target.address));
}

}  // namespace grapnel::rma
