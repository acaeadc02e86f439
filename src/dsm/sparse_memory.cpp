// SPDX-License-Identifier: Apache-2.0
#include "dsm/sparse_memory.hpp"

#include <fmt/format.h>

#include "base/units.hpp"

namespace grapnel::dsm {

Status SparseMemory::use(std::size_t offset) {
  os::Word& extent = extents_[offset / kExtentBytes];
  while (extent.load(std::memory_order_acquire) != kTaken) {
    std::uint32_t untouched = kUntouched;
    if (extent.compare_exchange_strong(untouched, kBegun)) return take(offset / kExtentBytes);
    GRAPNEL_TRY(waiting_->on_word(extent, [](std::uint32_t seen) { return seen != kBegun; }));
  }
  return {};
}

Result<bool> SparseMemory::try_use(std::size_t offset) {
  os::Word& extent = extents_[offset / kExtentBytes];
  if (extent.load(std::memory_order_acquire) == kTaken) return true;
  std::uint32_t untouched = kUntouched;
  if (!extent.compare_exchange_strong(untouched, kBegun)) return untouched == kTaken;
  GRAPNEL_TRY(take(offset / kExtentBytes));
  return true;
}

Status SparseMemory::take(std::size_t number) {
  os::Word& extent = extents_[number];
  const Status taken = segments_->take(begin_ + number * kExtentBytes, kExtentBytes);
  extent.store(taken.ok() ? kTaken : kUntouched, std::memory_order_release);
  waiting_->host().wake(extent);
  if (taken.ok()) return {};
  return Status(taken.code(),
                fmt::format("memory for {} KiB of the shared heap: {}", kExtentBytes / base::kKiB, taken.message()));
}

Result<std::byte*> allocate_in_leaders(core::Core& core, std::size_t bytes, segment::Taking taking) {
  launch::Launch& launch = core.launch;
  GRAPNEL_ASSIGN_OR_RETURN(const auto allocation,
                           core.segments.allocate(core.world, launch.leads_node() ? bytes : 0, taking));
  const Rank leader = launch.nodes().leader(launch.node());
  return static_cast<std::byte*>(allocation.parts[index(leader)].address);
}

}  // namespace grapnel::dsm
