// SPDX-License-Identifier: Apache-2.0
#include "window/settings.hpp"

#include "base/variables.hpp"

namespace grapnel::window {

const base::SettingsGroup& Settings::group() {
  static const base::SettingsGroup settings{
      Settings(),
      {
          base::alike_in_all_ranks(base::choice("GRAPNEL_WINDOWS",
                                                "whether libgrapnel-mpi takes over one-sided communication", "on|off",
                                                &Settings::enabled, {{"on", true}, {"off", false}})),
          base::alike_in_all_ranks(base::choice(
              "GRAPNEL_WINDOW_LOCK", "the algorithm of the locks of windows that are made without a kind",
              "server_queue|ticket|armci_hybrid|test_and_set|mcs|mcs_by_cas|cohort|reader_writer", &Settings::lock,
              {{"server_queue", LockKind::server_queue},
               {"ticket", LockKind::ticket},
               {"armci_hybrid", LockKind::armci_hybrid},
               {"test_and_set", LockKind::test_and_set},
               {"mcs", LockKind::mcs},
               {"mcs_by_cas", LockKind::mcs_by_cas},
               {"cohort", LockKind::cohort},
               {"reader_writer", LockKind::reader_writer}})),
      }};
  return settings;
}

}  // namespace grapnel::window
