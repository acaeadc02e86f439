// The accumulate family: updates of rma, all under its stripes, so that each is atomic for each element with all
// others.
//
//   one run on each side     one update              ⌈bytes/chunk⌉ messages
//   else                     an update of parts      the same, and the parts' gaps
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.hpp"
#include "rma/update_kernels.hpp"
#include "window/internal/launch.hpp"
#include "window/internal/services.hpp"
#include "window/internal/state_lock.hpp"
#include "window/layout.hpp"
#include "window/window.hpp"

namespace grapnel::window {

struct Window::Update {
  const char* call;
  Side origin;  ///< not looked at with Operation::none
  Side result;  ///< no layout: nothing is fetched
  int target;
  TargetSide target_side;
  Operation operation;

  bool reads_origin() const { return operation != Operation::none; }
  bool fetches() const { return result.layout != nullptr; }
  NumberType number() const { return *target_side.layout->number(); }
};

namespace {

// Parts that one transfer names: 128 KiB of them.
constexpr std::size_t kMostParts = 4096;

std::size_t elements_of(const Layout& layout, std::int64_t count) {
  return layout.elements() * static_cast<std::size_t>(count);
}

std::byte* at(const Side& side, const Run& run) { return static_cast<std::byte*>(side.base) + run.offset; }

/// A side's walk over elements; of no side, one that never ends and has no address.
class Elements {
 public:
  Elements(const Side& side, bool exists) : side_(side) {
    if (exists) cursor_.emplace(*side.layout, side.count, Walk::elements);
  }
  std::byte* address() const { return cursor_ ? at(side_, cursor_->run()) : nullptr; }
  std::size_t most(std::size_t bytes) const { return cursor_ ? std::min(bytes, cursor_->run().bytes) : bytes; }
  void advance(std::size_t bytes) {
    if (cursor_) cursor_->advance(bytes);
  }

 private:
  const Side side_;
  std::optional<Cursor> cursor_;
};

/// The side as one run; null where it does not exist. False: it is none.
bool as_one(const Side& side, bool exists, std::byte*& address) {
  address = nullptr;
  if (!exists) return true;
  const auto run = side.layout->contiguous(side.count, Walk::elements);
  if (run) address = at(side, *run);
  return run.has_value();
}

}  // namespace

// ---- arguments

Outcome Window::check_update(const Update& what) const {
  const auto number = what.target_side.layout->number();
  const std::size_t elements = elements_of(*what.target_side.layout, what.target_side.count);
  const auto fits = [&](const Side& side) {
    std::size_t found = 0;
    return side.layout != nullptr && side.layout->number() == number &&
           !__builtin_mul_overflow(side.layout->elements(), side.count, &found) && found == elements;
  };
  if (elements == 0) return {};
  if (!number) return Outcome(Fault::type, fmt::format("{}: the target's elements are not of one type", what.call));
  if ((what.reads_origin() && !fits(what.origin)) || (what.fetches() && !fits(what.result))) {
    return Outcome(Fault::type, fmt::format("{}: the target has {} elements of type {}; the origin, or the result, has "
                                            "another number or type",
                                            what.call, elements, static_cast<int>(*number)));
  }
  if (rma::find_kernel(what.operation, *number) != nullptr) return {};
  return Outcome(Fault::operation, fmt::format("{}: operation {} does not exist for type {}", what.call,
                                               static_cast<int>(what.operation), static_cast<int>(*number)));
}

Outcome Window::update(const Update& what, Pending* pending) {
  Aim aim;
  GRAPNEL_WINDOW_TRY(this->aim(what.call, what.target, what.target_side, aim));
  GRAPNEL_WINDOW_TRY(check_update(what));
  if (pending == nullptr && update_near(what)) return {};
  GRAPNEL_WINDOW_TRY(enter(what.call, what.target, pending != nullptr));
  return launch(aim, what.target, pending, !what.fetches(),
                [&](Handle* handle) { return start_update(what, aim, handle); });
}

// ---- ways

// One run on each side, in one stripe.
bool Window::update_near(const Update& what) const {
  const auto run = what.target_side.layout->contiguous(what.target_side.count, Walk::elements);
  std::byte *operands = nullptr, *old_elements = nullptr;
  const bool in_one =
      as_one(what.origin, what.reads_origin(), operands) && as_one(what.result, what.fetches(), old_elements);
  if (!run || run->offset != 0 || !in_one || (operands == nullptr && what.reads_origin())) return false;
  const Reduction* const kernel = rma::find_kernel(what.operation, what.number());
  return kernel != nullptr && near_.update(what.target, what.target_side.displacement, {what.operation, what.number()},
                                           *kernel, operands, old_elements, run->bytes);
}

Status Window::start_update(const Update& what, const Aim& aim, Handle* handle) {
  std::byte *operands = nullptr, *old_elements = nullptr;
  const auto run = what.target_side.layout->contiguous(what.target_side.count, Walk::elements);
  const bool in_one =
      as_one(what.origin, what.reads_origin(), operands) && as_one(what.result, what.fetches(), old_elements);
  if (!run || !in_one) return update_parts(what, aim, handle);
  GRAPNEL_ASSIGN_OR_RETURN(
      auto transfer,
      rma::Rma::update_transfer(what.operation, what.number(), operands, old_elements, aim.at + run->offset,
                                elements_of(*what.target_side.layout, what.target_side.count), aim.rank));
  transfer.lent = aim.is_lent;
  return services_.rma.start(transfer, handle);
}

Status Window::update_parts(const Update& what, const Aim& aim, Handle* handle) {
  Elements origin(what.origin, what.reads_origin()), result(what.result, what.fetches());
  std::vector<rma::Part> parts;
  for (Cursor to(*what.target_side.layout, what.target_side.count, Walk::elements); !to.at_end();) {
    const std::size_t bytes = result.most(origin.most(to.run().bytes));
    GRAPNEL_ASSERT(bytes != 0 && bytes % what.target_side.layout->element_bytes() == 0, "a part of {} bytes", bytes);
    parts.push_back({origin.address(), result.address(), aim.at + to.run().offset, bytes});
    origin.advance(bytes);
    result.advance(bytes);
    to.advance(bytes);
    if (parts.size() < kMostParts && !to.at_end()) continue;
    GRAPNEL_TRY(services_.rma.start(
        rma::VectorUpdate{what.operation, what.number(), what.fetches(), parts, aim.rank, aim.is_lent}, handle));
    parts.clear();
  }
  return {};
}

// ---- the calls

Outcome Window::accumulate(const Side& origin, int target, const TargetSide& target_side, Operation operation,
                           Pending* pending) {
  return update({"accumulate", origin, {}, target, target_side, operation}, pending);
}

Outcome Window::get_accumulate(const Side& origin, const Side& result, int target, const TargetSide& target_side,
                               Operation operation, Pending* pending) {
  if (result.layout == nullptr) return Outcome(Fault::type, "get_accumulate: no layout of the result was given");
  return update({"get_accumulate", origin, result, target, target_side, operation}, pending);
}

Outcome Window::fetch_and_op(const void* origin, void* result, NumberType number, int target, std::int64_t displacement,
                             Operation operation) {
  const char* const call = "fetch_and_op";
  const Reduction* const kernel = rma::find_kernel(operation, number);
  const auto bytes = static_cast<std::int64_t>(kernel != nullptr ? kernel->element_bytes : 0);
  Aim aim;
  GRAPNEL_WINDOW_TRY(aim_bytes(call, target, displacement, 0, bytes, aim));
  if (kernel == nullptr) {
    return Outcome(Fault::operation, fmt::format("{}: operation {} does not exist for type {}", call,
                                                 static_cast<int>(operation), static_cast<int>(number)));
  }
  const bool has_operand = origin != nullptr || operation == Operation::none;
  if (has_operand &&
      near_.update(target, displacement, {operation, number}, *kernel, origin, result, kernel->element_bytes)) {
    return {};
  }
  GRAPNEL_WINDOW_TRY(enter(call, target, false));
  auto transfer = rma::Rma::update_transfer(operation, number, origin, result, aim.at, 1, aim.rank);
  if (!transfer) return transfer.status();
  transfer->lent = aim.is_lent;
  return answered(aim, services_.rma.start(*transfer, nullptr));
}

Outcome Window::compare_and_swap(const void* origin, const void* compare, void* result, std::size_t bytes, int target,
                                 std::int64_t displacement) {
  const char* const call = "compare_and_swap";
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
    return Outcome(Fault::type, fmt::format("{}: {} bytes; it takes 1, 2, 4 or 8", call, bytes));
  }
  Aim aim;
  GRAPNEL_WINDOW_TRY(aim_bytes(call, target, displacement, 0, static_cast<std::int64_t>(bytes), aim));
  std::uint64_t expected = 0, desired = 0, found = 0;
  std::memcpy(&expected, compare, bytes);
  std::memcpy(&desired, origin, bytes);
  if (near_.compare(target, displacement, bytes, expected, desired, found)) {
    std::memcpy(result, &found, bytes);
    return {};
  }
  GRAPNEL_WINDOW_TRY(enter(call, target, false));
  const rma::CompareTransfer transfer{aim.at, expected, desired, result, bytes, aim.rank, aim.is_lent};
  return answered(aim, services_.rma.start(transfer, nullptr));
}

}  // namespace grapnel::window
