// The settings of the layer transport.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/config.hpp"

namespace grapnel::transport {

enum class TransportKind { automatic, ucx, local, sim };

struct Settings {
  TransportKind kind = TransportKind::automatic;
  bool native_rma = true;  ///< use the transport's own put and get where hardware does them

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::transport
