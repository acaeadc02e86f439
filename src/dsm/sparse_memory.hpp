// Memory of a node that is taken by extents of 1 MiB when the node first uses something there.
//
// Threads: any, of any rank of the node, and the node's server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/core.hpp"

namespace grapnel::dsm {

class SparseMemory {
 public:
  static constexpr std::size_t kExtentBytes = std::size_t{1} << 20;

  SparseMemory() = default;
  /// Of a segment `on_use` that begins there; `extents`: a word per extent in node memory, zero at first.
  SparseMemory(core::Core& core, std::byte* begin, os::Word* extents)
      : segments_(&core.segments), waiting_(&core.waiting), begin_(begin), extents_(extents) {}

  std::byte* begin() const { return begin_; }

  /// Takes the memory of the extent around `offset` where that was not done. Waits for another rank that does it.
  /// Errors: no_memory, peer_dead.
  Status use(std::size_t offset);
  /// The same for the server: false where a rank is at it.
  Result<bool> try_use(std::size_t offset);
  /// Whether that memory has been taken; else it is zero.
  bool is_used(std::size_t offset) const {
    return extents_[offset / kExtentBytes].load(std::memory_order_acquire) == kTaken;
  }

 private:
  static constexpr std::uint32_t kUntouched = 0, kBegun = 1, kTaken = 2;
  Status take(std::size_t extent);

  segment::SegmentTable* segments_ = nullptr;
  progress::Waiting* waiting_ = nullptr;
  std::byte* begin_ = nullptr;
  os::Word* extents_ = nullptr;
};

/// Collective: one allocation in each node, the leader's; where it lies in this one. Errors: no_memory, peer_dead.
Result<std::byte*> allocate_in_leaders(core::Core& core, std::size_t bytes, segment::Taking taking);

}  // namespace grapnel::dsm
