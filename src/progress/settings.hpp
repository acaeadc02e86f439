// The settings of the layer progress.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/config.hpp"

namespace grapnel::progress {

enum class ProgressMode { poll, event, adaptive, timer };

struct Settings {
  ProgressMode mode = ProgressMode::adaptive;  ///< how a node's server waits
  std::uint64_t spin_ns = 80'000;              ///< a waiting rank spins at least so long; servers half
  std::size_t window_bytes = 1024 * 1024;      ///< unacknowledged request and reply bytes of one origin at one node
  std::uint64_t heartbeat_ms = 1000;           ///< between two heartbeats of neighbouring servers; 0: none
  std::uint64_t connect_ms = 10'000;           ///< for a connection to be accepted; 0: without a limit

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::progress
