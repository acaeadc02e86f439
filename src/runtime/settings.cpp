// SPDX-License-Identifier: Apache-2.0
#include "runtime/settings.hpp"

#include <csignal>

#include "base/variables.hpp"

namespace grapnel::runtime {

const base::SettingsGroup& Settings::group() {
  using base::LogFormat;
  using base::LogLevel;
  static const base::SettingsGroup settings{
      Settings(),
      {
          base::alike_in_all_ranks(
              base::flag("GRAPNEL_STATS", "print the operation table when the job ends", &Settings::stats)),
          base::choice("GRAPNEL_LOG", "what is written to stderr", "error|warn|info|debug", &Settings::log,
                       {{"error", LogLevel::error},
                        {"warn", LogLevel::warn},
                        {"info", LogLevel::info},
                        {"debug", LogLevel::debug}}),
          base::choice("GRAPNEL_LOG_FORMAT", "what a log line begins with (docs/debugging.md)", "plain|time|full",
                       &Settings::log_format,
                       {{"plain", LogFormat::plain}, {"time", LogFormat::time}, {"full", LogFormat::full}}),
          base::integer("GRAPNEL_WATCHDOG_S", "a wait that is longer is reported, once (0: none is)", "0..1000000",
                        &Settings::watchdog_s, 0, 1'000'000),
          base::flag("GRAPNEL_BACKTRACE", "a rank that crashes prints a backtrace", &Settings::backtrace),
          base::choice("GRAPNEL_STATUS_SIGNAL",
                       "after this signal a rank prints what each rank waits for (docs/debugging.md)", "USR1|USR2|none",
                       &Settings::status_signal, {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"none", 0}}),
      }};
  return settings;
}

}  // namespace grapnel::runtime
