// Read-modify-write between nodes: a message to the server, and its answer.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/codec.hpp"
#include "rma/rma.hpp"

namespace grapnel::rma {

Result<std::int64_t> Rma::rmw_elsewhere(RmwOperation operation, void* remote, std::int64_t operand,
                                        std::int64_t expected, Width width, Rank target) {
  const std::size_t bytes = width == Width::bits32 ? 4 : 8;
  if (reinterpret_cast<std::uintptr_t>(remote) % bytes != 0) {
    return Status(Code::invalid_argument, fmt::format("atomic: {} is not aligned to {} bytes", remote, bytes));
  }
  const auto way = route(remote, bytes, target, "atomic");
  if (!way) return way.status();
  progress::Client::Guard guard(*client_);
  GRAPNEL_TRY(before_messages(node_of(target)));
  const std::uint64_t before = client_->messages();
  const RmwBody body{reinterpret_cast<std::uint64_t>(remote), operation, static_cast<std::uint32_t>(bytes), operand,
                     expected};
  auto old_value = remote_->rmw(node_of(target), body);
  count_wire(OperationKind::rmw, bytes, before);
  return old_value;
}

}  // namespace grapnel::rma
