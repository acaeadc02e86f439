// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "grapnel/types.hpp"

namespace grapnel::window {

/// One member's memory, as all members know it.
struct Part {
  Rank rank{};
  NodeId node{};
  std::byte* base = nullptr;  ///< in its node's addresses
  std::size_t bytes = 0;
  std::int64_t unit = 1;
  bool is_near = false;  ///< on this rank's node: operations are complete when they return
  bool is_lent = false;  ///< no memory of a segment: reached by process copies
};

}  // namespace grapnel::window
