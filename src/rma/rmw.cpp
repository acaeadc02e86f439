// Read-modify-write. Words are CPU-atomic: local ranks and the server, for remote ranks, use the same instructions.
#include <fmt/format.h>

#include <atomic>

#include "rma/handlers.hpp"
#include "rma/rma.hpp"

namespace grapnel::rma {
namespace {

template <typename Word>
std::int64_t apply(RmwOperation operation, void* address, std::int64_t operand, std::int64_t expected) {
  const std::atomic_ref<Word> word(*static_cast<Word*>(address));
  // seq_cst throughout: users build locks and counters on these without further fences.
  switch (operation) {
    case RmwOperation::fetch_and_add: return word.fetch_add(static_cast<Word>(operand));
    case RmwOperation::swap: return word.exchange(static_cast<Word>(operand));
    case RmwOperation::compare_and_swap: {
      auto value = static_cast<Word>(expected);
      word.compare_exchange_strong(value, static_cast<Word>(operand));
      return value;
    }
  }
  return 0;
}

}  // namespace

std::int64_t apply_rmw(RmwOperation operation, void* address, std::size_t width_bytes, std::int64_t operand,
                       std::int64_t expected) {
  return width_bytes == 4 ? apply<std::int32_t>(operation, address, operand, expected)
                          : apply<std::int64_t>(operation, address, operand, expected);
}

Result<std::int64_t> Rma::rmw(RmwOperation operation, void* remote, std::int64_t operand, std::int64_t expected,
                              Width width, Rank target) {
  const std::size_t bytes = width == Width::bits32 ? 4 : 8;
  if (reinterpret_cast<std::uintptr_t>(remote) % bytes != 0) {
    return Status(Code::invalid_argument, fmt::format("atomic: {} is not aligned to {} bytes", remote, bytes));
  }
  if (in_reach(remote, bytes, target)) [[likely]] {
    count_shared(OperationKind::rmw, bytes);
    return apply_rmw(operation, remote, bytes, operand, expected);
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
