// Operations in memory of the own node, for a caller that knows all but the memory's bounds: the target is of this
// node, the sizes are right, and an update's operation exists (rma/update_kernels.hpp).
//
//   put, get   is it in a segment? (one load) ─▶ copy
//   update     the same ─▶ take the stripe by one compare-and-swap ─▶ join ─▶ give it back by one store
//
// Inline, without a status, a route or a transfer to describe. Each call answers false where it has done nothing: the
// memory is of no segment or is not lent, it lies in two stripes, or another rank holds its stripe. Rma's own call then
// waits, or answers what is wrong.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rma/counts.hpp"
#include "rma/internal/lent_memory.hpp"
#include "rma/internal/updating.hpp"
#include "rma/kernels/copy.hpp"
#include "rma/stripes.hpp"
#include "segment/segment.hpp"

namespace grapnel::rma {

class Near {
 public:
  Near(const segment::SegmentTable& segments, Stripes& stripes, os::Host& host, segment::Lent& lent, Rank me)
      : reach_(segments.reach()), stripes_(stripes), host_(host), lent_(lent, segments, me) {}

  bool put(std::byte* at, const void* source, std::size_t bytes) const {
    if (!reach_.contains(at, bytes)) [[unlikely]]
      return false;
    count(OperationKind::put, bytes);
    rma::copy(at, source, bytes);
    return true;
  }
  bool get(const std::byte* at, void* destination, std::size_t bytes) const {
    if (!reach_.contains(at, bytes)) [[unlikely]]
      return false;
    count(OperationKind::get, bytes);
    rma::copy(destination, at, bytes);
    return true;
  }
  /// `bytes` is not 0. `old_elements` may be null; Operation::none does not read `source`.
  bool update(const Update& update, const Reduction& kernel, std::byte* at, const void* source, void* old_elements,
              std::size_t bytes) const {
    return in_stripe(at, bytes, [&] {
      update_run(update, kernel, at, static_cast<const std::byte*>(source), static_cast<std::byte*>(old_elements),
                 bytes);
    });
  }
  /// As `compare_held`; `old_value` gets its answer.
  bool compare(std::byte* at, std::size_t bytes, std::uint64_t expected, std::uint64_t desired,
               std::uint64_t& old_value) const {
    return in_stripe(at, bytes, [&] { old_value = compare_held(at, bytes, expected, desired); });
  }

  /// Memory that `owner` lends, which the caller knows: nothing is looked up.
  bool put_lent(Rank owner, std::byte* at, const void* source, std::size_t bytes) const {
    const Part part{source, nullptr, at, bytes};
    if (!lent_.put(owner, {&part, 1}).ok()) return false;
    count(OperationKind::put, bytes);
    return true;
  }
  bool get_lent(Rank owner, std::byte* at, void* destination, std::size_t bytes) const {
    const Part part{nullptr, destination, at, bytes};
    if (!lent_.get(owner, {&part, 1}).ok()) return false;
    count(OperationKind::get, bytes);
    return true;
  }

  /// Beside Rma's; these all went by shared memory.
  const OperationCounts& counts(OperationKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  void count(OperationKind kind, std::size_t bytes) const {
    OperationCounts& counts = counts_[static_cast<std::size_t>(kind)];
    counts.shared_operations.add(1);
    counts.shared_bytes.add(bytes);
  }
  template <typename Work>
  bool in_stripe(std::byte* at, std::size_t bytes, const Work& work) const {
    if (!Stripes::lie_in_one(at, bytes) || !reach_.contains_for_updates(at, bytes)) [[unlikely]]
      return false;
    os::Word& stripe = stripes_.word_of(at);
    if (!Stripes::try_take(stripe, stripes_.rank_mark())) return false;
    count(OperationKind::update, bytes);
    work();
    Stripes::give_back(stripe, host_);
    return true;
  }

  const segment::Reach reach_;
  Stripes& stripes_;
  os::Host& host_;
  const LentMemory lent_;
  mutable std::array<OperationCounts, kOperationKinds.size()> counts_;
};

}  // namespace grapnel::rma
