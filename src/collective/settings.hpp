// The settings of the layer collective: which way a collective takes, by size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/config.hpp"
#include "base/units.hpp"

namespace grapnel::collective {

struct Settings {
  std::uint64_t flat_bytes = 64 * base::kKiB;    ///< a reduction in a node: of all members together
  std::uint64_t gather_bytes = 16 * base::kKiB;  ///< a reduction between nodes: of all nodes together
  std::uint64_t long_bytes = 16 * base::kKiB;    ///< messages at least this long go by puts

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::collective
