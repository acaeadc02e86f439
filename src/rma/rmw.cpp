// Read-modify-write between nodes: a message to the server, and its answer; in the network domain an operation of the
// adapter, for ranks of the word's node too.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>

#include "base/codec.hpp"
#include "rma/rma.hpp"

namespace grapnel::rma {
namespace {

transport::Atomic atomic_of(RmwOperation operation, std::int64_t operand, std::int64_t expected) {
  using Kind = transport::Atomic::Kind;
  const auto value = static_cast<std::uint64_t>(operand);
  switch (operation) {
    case RmwOperation::fetch_and_add: return {Kind::fetch_add, value};
    case RmwOperation::swap: return {Kind::swap, value};
    case RmwOperation::compare_and_swap: break;
  }
  return {Kind::compare_swap, value, static_cast<std::uint64_t>(expected)};
}

}  // namespace

Result<std::int64_t> Rma::rmw_elsewhere(RmwOperation operation, void* remote, std::int64_t operand,
                                        std::int64_t expected, Width width, Rank target) {
  const std::size_t bytes = width == Width::bits32 ? 4 : 8;
  if (reinterpret_cast<std::uintptr_t>(remote) % bytes != 0) {
    return Status(Code::invalid_argument, fmt::format("atomic: {} is not aligned to {} bytes", remote, bytes));
  }
  const auto way = route(remote, bytes, target, "atomic");
  if (!way) return way.status();
  if (is_network(remote, target)) return rmw_by_adapter(operation, remote, operand, expected, width, target);
  progress::Client::Guard guard(*client_);
  GRAPNEL_TRY(before_messages(node_of(target)));
  const std::uint64_t before = client_->messages();
  const RmwBody body{reinterpret_cast<std::uint64_t>(remote), operation, static_cast<std::uint32_t>(bytes), operand,
                     expected};
  auto old_value = remote_->rmw(node_of(target), body);
  count_wire(OperationKind::rmw, bytes, before);
  return old_value;
}

Result<std::int64_t> Rma::rmw_by_adapter(RmwOperation operation, void* remote, std::int64_t operand,
                                         std::int64_t expected, Width width, Rank target) {
  constexpr std::size_t kBytes = sizeof(std::uint64_t);
  if (width != Width::bits64) {
    return Status(Code::invalid_argument,
                  fmt::format("atomic: {} of rank {} is in the network domain, whose words have 64 bits, not 32",
                              remote, index(target)));
  }
  const transport::Atomic what = atomic_of(operation, operand, expected);
  if (client_ == nullptr) {
    count_shared(OperationKind::rmw, kBytes);
    GRAPNEL_ASSIGN_OR_RETURN(const auto old_value, words_.run(what, remote, target));
    return static_cast<std::int64_t>(old_value);
  }
  const NodeId node = node_of(target);
  progress::Client::Guard guard(*client_);
  if (native_ != nullptr) {
    GRAPNEL_TRY(before_native(node, reinterpret_cast<std::uint64_t>(remote), kBytes));
  } else if (!client_->acknowledged(node)) {
    GRAPNEL_TRY(fences_.wait_until_applied(node));
  }
  const std::uint64_t before = client_->messages();
  GRAPNEL_ASSIGN_OR_RETURN(const auto old_value, words_.run(what, remote, target));
  count_wire(OperationKind::rmw, kBytes, before);
  return static_cast<std::int64_t>(old_value);
}

}  // namespace grapnel::rma
