// SPDX-License-Identifier: Apache-2.0
#include "window/settings.hpp"

#include "base/variables.hpp"
#include "locks/settings.hpp"

namespace grapnel::window {

const base::SettingsGroup& Settings::group() {
  static const base::SettingsGroup settings{
      Settings(),
      {
          base::alike_in_all_ranks(base::choice("GRAPNEL_WINDOWS",
                                                "whether libgrapnel-mpi takes over one-sided communication", "on|off",
                                                &Settings::enabled, {{"on", true}, {"off", false}})),
          base::alike_in_all_ranks(base::choice("GRAPNEL_WINDOW_LOCK",
                                                "the algorithm of the locks of windows that are made without a kind",
                                                locks::kKindNames, &Settings::lock, locks::kind_choices())),
          base::alike_in_all_ranks(base::choice("GRAPNEL_WINDOW_LOCK_DOMAIN",
                                                "what updates the locks of windows that are made without a domain",
                                                locks::kDomainNames, &Settings::lock_domain, locks::domain_choices())),
      }};
  return settings;
}

}  // namespace grapnel::window
