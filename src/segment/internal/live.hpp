// What a rank remembers of an allocation until it is freed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "segment/segment.hpp"

namespace grapnel::segment {

struct SegmentTable::Live {
  struct Remote {
    NodeId node{};
    std::uintptr_t begin = 0;
    Bytes key;  ///< what RemoteRegion::key shows
  };

  /// The node's range, as this rank has it mapped.
  ByteSpan range(std::uintptr_t pool_base) const {
    return {reinterpret_cast<std::byte*>(pool_base + range_offset), range_bytes};
  }

  std::vector<Part> parts;  ///< by group index
  AtomicDomain domain = AtomicDomain::processor;
  bool claimed = false;          ///< this rank took the node's range and gives it back
  std::size_t range_offset = 0;  ///< of the node's range in the pool
  std::size_t range_bytes = 0;   ///< of the node's range; 0: the node has none
  std::unique_ptr<transport::RegisteredMemory> registered;
  std::vector<Remote> remote;  ///< what `find_remote` knows by this allocation
};

}  // namespace grapnel::segment
