// The settings of the layer sync.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/config.hpp"

namespace grapnel::sync {

enum class BarrierKind { automatic, serial, few, clean, exchange, direct, gather };

struct Settings {
  BarrierKind barrier = BarrierKind::automatic;
  std::uint32_t barrier_fanout = 2;  ///< messages of a dissemination's round, plus one

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::sync
