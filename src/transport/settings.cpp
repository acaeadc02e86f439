// SPDX-License-Identifier: Apache-2.0
#include "transport/settings.hpp"

#include "base/variables.hpp"

namespace grapnel::transport {

const base::SettingsGroup& Settings::group() {
  static const base::SettingsGroup settings{
      Settings(),
      {
          // After the start it is what was chosen, so that ranks that chose differently find out.
          base::alike_in_all_ranks(base::choice(
              "GRAPNEL_TRANSPORT",
              "what carries messages between nodes; auto: local between nodes of one machine, unless UCX_TLS is set "
              "(sim: in the project's tests only)",
              "auto|ucx|local|sim", &Settings::kind,
              {{"auto", TransportKind::automatic},
               {"ucx", TransportKind::ucx},
               {"local", TransportKind::local},
               {"sim", TransportKind::sim}})),
          base::flag("GRAPNEL_NATIVE_RMA", "use the transport's own put and get where hardware does them",
                     &Settings::native_rma),
      }};
  return settings;
}

}  // namespace grapnel::transport
