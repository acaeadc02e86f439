// The settings of the layer launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/config.hpp"
#include "launch/launch.hpp"

namespace grapnel::launch {

struct Settings {
  int nodes = 0;                                  ///< virtual nodes per machine; 0: the machine is one node
  std::size_t pool_bytes = std::size_t{1} << 38;  ///< addresses set aside for segments (not memory)

  /// What the layers above carve from the node memory: set by the composition root, and no variable.
  std::vector<NodeMemoryNeed> node_memory = {};

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::launch
