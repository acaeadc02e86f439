// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <ctime>

#include "base/output.hpp"

namespace grapnel::base {
namespace {

// The level belongs to the process, like stderr itself. Relaxed: a line more or less around a change does no harm.
std::atomic<LogLevel> threshold{LogLevel::warn};
std::atomic<LogFormat> line_format{LogFormat::plain};
thread_local std::string thread_identity;

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::error: return "error";
    case LogLevel::warn: return "warning";
    case LogLevel::info: return "info";
    case LogLevel::debug: return "debug";
  }
  return "?";
}

}  // namespace

void log_set_level(LogLevel level) { threshold.store(level, std::memory_order_relaxed); }

void log_set_format(LogFormat format) { line_format.store(format, std::memory_order_relaxed); }

std::string log_stamp() {
  const LogFormat format = line_format.load(std::memory_order_relaxed);
  if (format == LogFormat::plain) return {};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char seconds[32] = {};
  std::strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
  std::string stamp = fmt::format("{}.{:06}Z ", seconds, now.tv_nsec / 1000);
  if (format == LogFormat::time) return stamp;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("{}{} {} ", stamp, host, ::getpid());
}

void log_set_identity(std::string identity) { thread_identity = std::move(identity); }

bool log_enabled(LogLevel level) { return level <= threshold.load(std::memory_order_relaxed); }

void log_write(LogLevel level, std::string_view text) {
  const std::string line =
      thread_identity.empty()
          ? fmt::format("{}grapnel {}: {}\n", log_stamp(), name_of(level), text)
          : fmt::format("{}grapnel[{}] {}: {}\n", log_stamp(), thread_identity, name_of(level), text);
  // A log line that cannot be written has nowhere to be reported.
  (void)write_all(STDERR_FILENO, line);
}

}  // namespace grapnel::base
