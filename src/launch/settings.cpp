// SPDX-License-Identifier: Apache-2.0
#include "launch/settings.hpp"

#include "base/units.hpp"
#include "base/variables.hpp"

namespace grapnel::launch {

const base::SettingsGroup& Settings::group() {
  static const base::SettingsGroup settings{
      Settings(),
      {
          base::integer("GRAPNEL_NODES", "virtual nodes per machine (0: the machine is one node)", "0..4096",
                        &Settings::nodes, 0, 4096),
          base::integer("GRAPNEL_POOL_BYTES", "addresses set aside for segments (not memory)",
                        "16777216..70368744177664", &Settings::pool_bytes, 16 * base::kMiB, std::size_t{1} << 46),
      }};
  return settings;
}

}  // namespace grapnel::launch
