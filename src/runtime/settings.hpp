// The settings of the layer runtime: its reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/config.hpp"
#include "base/log.hpp"

namespace grapnel::runtime {

struct Settings {
  bool stats = false;  ///< print the operation table at the end
  base::LogLevel log = base::LogLevel::warn;
  base::LogFormat log_format = base::LogFormat::plain;
  std::uint32_t watchdog_s = 0;  ///< a wait that is longer is reported; 0: none is
  bool backtrace = false;        ///< on a crash
  int status_signal = 0;         ///< after which a rank reports; 0: none

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::runtime
