// SPDX-License-Identifier: Apache-2.0
#include "collective/settings.hpp"

#include "base/variables.hpp"

namespace grapnel::collective {

const base::SettingsGroup& Settings::group() {
  static const base::SettingsGroup settings{
      Settings(),
      {
          base::alike_in_all_ranks(
              base::integer("GRAPNEL_REDUCE_FLAT_BYTES",
                            "up to this much in a node, each rank adds all that its members bring; above, a part",
                            "0..1073741824", &Settings::flat_bytes, 0, base::kGiB)),
          base::alike_in_all_ranks(
              base::integer("GRAPNEL_REDUCE_GATHER_BYTES",
                            "up to this much from all nodes, each node adds all that they bring; above, a part",
                            "0..1073741824", &Settings::gather_bytes, 0, base::kGiB)),
          base::alike_in_all_ranks(base::integer(
              "GRAPNEL_COLLECTIVE_LONG_BYTES",
              "what one rank gives another in a collective goes by puts from so much on; below, by letters",
              "1..1099511627776", &Settings::long_bytes, 1, std::size_t{1} << 40)),
      }};
  return settings;
}

}  // namespace grapnel::collective
