// Put and get: arguments, epoch, access, and the transfer.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "window/internal/launch.hpp"
#include "window/internal/services.hpp"
#include "window/internal/state_lock.hpp"
#include "window/layout.hpp"
#include "window/window.hpp"

namespace grapnel::window {
namespace {

// Pieces that one transfer names: 96 KiB of them.
constexpr std::size_t kMostPieces = 4096;

/// `bytes`: of data in `count` copies.
Outcome check_copies(const char* call, const Layout* layout, std::int64_t count, std::size_t& bytes) {
  if (count < 0) {
    return Outcome(Fault::count, fmt::format("{}: the count is {}; it takes 0 and more", call, count));
  }
  if (layout == nullptr) return Outcome(Fault::type, fmt::format("{}: no layout was given", call));
  std::int64_t found = 0;
  if (__builtin_mul_overflow(layout->bytes(), count, &found)) {
    return Outcome(Fault::count,
                   fmt::format("{}: {} copies of {} bytes exceed the address space", call, count, layout->bytes()));
  }
  bytes = static_cast<std::size_t>(found);
  return {};
}

/// A row as a shape of the other side's counts.
Strided as_rows_of(const Strided& other) {
  Strided shape = other;
  std::int64_t stride = shape.count[0];
  for (int level = 0; level < shape.levels; ++level) {
    shape.stride[level] = stride;
    stride *= shape.count[level + 1];
  }
  return shape;
}

bool have_equal_counts(const Strided& a, const Strided& b) {
  return a.levels == b.levels && std::equal(a.count, a.count + a.levels + 1, b.count);
}

/// Both sides in the same counts, where that is possible.
bool align(Strided& a, Strided& b) {
  a = normalised(a);
  b = normalised(b);
  if (a.levels == 0) a = as_rows_of(b);
  if (b.levels == 0) b = as_rows_of(a);
  return have_equal_counts(a, b);
}

}  // namespace

Outcome Window::check_place(const char* call, int place) const {
  if (place >= 0 && place < size()) return {};
  return Outcome(Fault::rank,
                 fmt::format("{}: target {} is not in the window's group, 0 to {}", call, place, size() - 1));
}

Outcome Window::aim_bytes(const char* call, int target, std::int64_t displacement, std::int64_t low, std::int64_t high,
                          Aim& found) const {
  GRAPNEL_WINDOW_TRY(check_place(call, target));
  if (displacement < 0) {
    return Outcome(Fault::displacement,
                   fmt::format("{}: the displacement is {}; it takes 0 and more", call, displacement));
  }
  const Part& part = parts_[static_cast<std::size_t>(target)];
  found.rank = part.rank;
  found.is_near = part.is_near;
  found.is_lent = part.is_lent;
  if (low == high) return {};
  if (flavor_ == Flavor::dynamic) {  // the target's node checks what is attached
    found.at = reinterpret_cast<std::byte*>(displacement);
    return {};
  }
  std::int64_t at = 0, first = 0, end = 0;
  const bool fits = !__builtin_mul_overflow(displacement, part.unit, &at) && !__builtin_add_overflow(at, low, &first) &&
                    !__builtin_add_overflow(at, high, &end);
  if (!fits || first < 0 || static_cast<std::uint64_t>(end) > part.bytes) {
    return Outcome(Fault::range,
                   fmt::format("{}: bytes {} to {} from displacement {}, in units of {}, lie outside the {} bytes of "
                               "target {}",
                               call, low, high, displacement, part.unit, part.bytes, target));
  }
  found.at = part.base + at;
  return {};
}

Outcome Window::aim(const char* call, int target, const TargetSide& target_side, Aim& found) const {
  GRAPNEL_WINDOW_TRY(check_copies(call, target_side.layout, target_side.count, found.bytes));
  const Layout& layout = *target_side.layout;
  std::int64_t last = 0, edge = 0;
  if (target_side.count > 1 && (__builtin_mul_overflow(target_side.count - 1, layout.extent(), &last) ||
                                __builtin_add_overflow(last, last < 0 ? layout.lower() : layout.upper(), &edge))) {
    return Outcome(Fault::count,
                   fmt::format("{}: {} copies with {} bytes from one to the next exceed the address space", call,
                               target_side.count, layout.extent()));
  }
  const Extent touched = layout.bounds(target_side.count);
  return aim_bytes(call, target, target_side.displacement, touched.low, touched.high, found);
}

Outcome Window::answered(const Aim& aim, const Status& status) {
  if (aim.is_lent && status.code() == Code::invalid_argument) return Outcome(Fault::range, status.message());
  return status;
}

Outcome Window::enter(const char* call, int target, bool is_request) {
  {
    const StateLock lock(*this);
    GRAPNEL_WINDOW_TRY(is_request ? epochs_.passive(call, target) : Outcome());
    GRAPNEL_WINDOW_TRY(epochs_.operation(call, target));
    note_used(target);
    if (may_go(target)) [[likely]] {
      near_.permit(target, epochs_.is_passive(target));
      return {};
    }
  }
  return get_access(target);
}

Status Window::start_move(rma::OperationKind kind, const Side& origin, const TargetSide& target_side, const Aim& aim,
                          Handle* handle) {
  auto* const base = static_cast<std::byte*>(origin.base);
  const auto local_run = origin.layout->contiguous(origin.count),
             run = target_side.layout->contiguous(target_side.count);
  if (local_run && run) {
    std::byte* const local = base + local_run->offset;
    std::byte* const remote = aim.at + run->offset;
    if (aim.is_near && !aim.is_lent) [[likely]] {  // complete now, as a blocking one
      return kind == rma::OperationKind::put ? services_.rma.put(local, remote, run->bytes, aim.rank)
                                             : services_.rma.get(remote, local, run->bytes, aim.rank);
    }
    return services_.rma.start(rma::ContiguousTransfer{kind, {}, local, remote, run->bytes, aim.rank, aim.is_lent},
                               handle);
  }
  auto local = origin.layout->as_strided(origin.count), remote = target_side.layout->as_strided(target_side.count);
  if (local && remote && align(local->shape, remote->shape)) {
    return services_.rma.start(rma::StridedTransfer{kind,
                                                    {},
                                                    base + local->offset,
                                                    &local->shape,
                                                    aim.at + remote->offset,
                                                    &remote->shape,
                                                    aim.rank,
                                                    aim.is_lent},
                               handle);
  }
  std::vector<Piece> pieces;
  Cursor from(*origin.layout, origin.count), to(*target_side.layout, target_side.count);
  while (!from.at_end() && !to.at_end()) {
    const std::size_t bytes = std::min(from.run().bytes, to.run().bytes);
    pieces.push_back({base + from.run().offset, aim.at + to.run().offset, bytes});
    from.advance(bytes);
    to.advance(bytes);
    if (pieces.size() < kMostPieces && !to.at_end()) continue;
    GRAPNEL_TRY(services_.rma.start(rma::VectorTransfer{kind, {}, pieces, aim.rank, aim.is_lent}, handle));
    pieces.clear();
  }
  GRAPNEL_ASSERT(from.at_end() && to.at_end(), "one side of {} bytes has more data than the other one", aim.bytes);
  return {};
}

Outcome Window::move(rma::OperationKind kind, const Side& origin, int target, const TargetSide& target_side,
                     Pending* pending) {
  const char* const call = rma::to_string(kind);
  std::size_t origin_bytes = 0;
  GRAPNEL_WINDOW_TRY(check_copies(call, origin.layout, origin.count, origin_bytes));
  Aim aim;
  GRAPNEL_WINDOW_TRY(this->aim(call, target, target_side, aim));
  if (origin_bytes != aim.bytes) {
    return Outcome(Fault::type,
                   fmt::format("{}: the origin has {} bytes, the target {}", call, origin_bytes, aim.bytes));
  }
  if (pending == nullptr && move_near(kind, origin, target, target_side)) return {};
  GRAPNEL_WINDOW_TRY(enter(call, target, pending != nullptr));
  return launch(aim, target, pending, kind == rma::OperationKind::put,
                [&](Handle* handle) { return start_move(kind, origin, target_side, aim, handle); });
}

Outcome Window::put(const Side& origin, int target, const TargetSide& target_side, Pending* pending) {
  return move(rma::OperationKind::put, origin, target, target_side, pending);
}

Outcome Window::get(const Side& origin, int target, const TargetSide& target_side, Pending* pending) {
  return move(rma::OperationKind::get, origin, target, target_side, pending);
}

}  // namespace grapnel::window
