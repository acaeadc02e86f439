// SPDX-License-Identifier: Apache-2.0
#include "progress/settings.hpp"

#include "base/units.hpp"
#include "base/variables.hpp"

namespace grapnel::progress {

const base::SettingsGroup& Settings::group() {
  static const base::SettingsGroup settings{
      Settings(),
      {
          base::choice("GRAPNEL_PROGRESS", "how a node's server waits for messages", "poll|event|adaptive|timer",
                       &Settings::mode,
                       {{"poll", ProgressMode::poll},
                        {"event", ProgressMode::event},
                        {"adaptive", ProgressMode::adaptive},
                        {"timer", ProgressMode::timer}}),
          base::integer("GRAPNEL_SPIN_NS", "how long a waiting rank spins at least before it sleeps; servers half",
                        "0..1000000000", &Settings::spin_ns, 0, base::kSecond_ns),
          base::integer("GRAPNEL_WINDOW_BYTES", "unacknowledged bytes of one rank at one node's server",
                        "131072..1073741824", &Settings::window_bytes, 128 * base::kKiB, base::kGiB),
          base::alike_in_all_ranks(base::integer(
              "GRAPNEL_HEARTBEAT_MS", "between servers; a host that is silent for six ends the job (0: no heartbeats)",
              "0..60000", &Settings::heartbeat_ms, 0, 60'000)),
          base::integer("GRAPNEL_CONNECT_MS", "a connection that is not accepted in time ends the job (0: never)",
                        "0..3600000", &Settings::connect_ms, 0, 3'600'000),
      }};
  return settings;
}

}  // namespace grapnel::progress
