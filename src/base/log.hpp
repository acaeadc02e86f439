// One line per event on stderr, "grapnel[rank] level: text" (GRAPNEL_LOG_FORMAT puts more before it); written with one
// write(2), so that lines do not mix.
//
// GRAPNEL_LOG=error|warn|info|debug chooses what is written. Any thread may log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "grapnel/types.hpp"

namespace grapnel::base {

/// What a line begins with: plain "grapnel[3] warning:"; time: the time (UTC) before that; full: host and process, too.
enum class LogFormat { plain, time, full };

enum class LogLevel { error, warn, info, debug };

/// Lines above `level` are dropped from now on. Called once, from the composition root.
void log_set_level(LogLevel level);
/// Called once, from the composition root.
void log_set_format(LogFormat format);
/// What the format puts before each line: "", "2026-11-26T06:44:55.123456Z ", or with " host process " behind.
std::string log_stamp();
/// The name put before each line of this thread, e.g. "3" or "3/server".
void log_set_identity(std::string identity);
bool log_enabled(LogLevel level);
void log_write(LogLevel level, std::string_view text);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_write(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::error, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warn, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::debug, format, std::forward<Args>(args)...);
}

}  // namespace grapnel::base
