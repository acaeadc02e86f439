// Segments of this rank alone, which other ranks reach: those of its node directly, others by puts.
// Threads: of one rank one at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/core.hpp"
#include "grapnel/status.hpp"
#include "launch/group.hpp"

namespace grapnel::collective {

class OwnSegments {
 public:
  explicit OwnSegments(core::Core& core);

  /// Errors: no_memory.
  Result<std::byte*> allocate(std::size_t bytes);
  Status free(std::byte* begin) { return segments_.free(alone_, begin); }

 private:
  segment::SegmentTable& segments_;
  const launch::Group alone_;
};

}  // namespace grapnel::collective
