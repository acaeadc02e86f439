// SPDX-License-Identifier: Apache-2.0
#include "sync/settings.hpp"

#include "base/variables.hpp"

namespace grapnel::sync {

const base::SettingsGroup& Settings::group() {
  static const base::SettingsGroup settings{
      Settings(),
      {
          base::alike_in_all_ranks(base::choice("GRAPNEL_BARRIER",
                                                "how a barrier completes the writes before it (docs/barrier.md)",
                                                "auto|serial|few|clean|exchange|direct|gather", &Settings::barrier,
                                                {{"auto", BarrierKind::automatic},
                                                 {"serial", BarrierKind::serial},
                                                 {"few", BarrierKind::few},
                                                 {"clean", BarrierKind::clean},
                                                 {"exchange", BarrierKind::exchange},
                                                 {"direct", BarrierKind::direct},
                                                 {"gather", BarrierKind::gather}})),
          base::alike_in_all_ranks(base::integer("GRAPNEL_BARRIER_FANOUT",
                                                 "a round of a barrier reaches this many times the nodes", "2..64",
                                                 &Settings::barrier_fanout, 2, 64)),
      }};
  return settings;
}

}  // namespace grapnel::sync
