// A broken invariant is our bug: say who, where and with which values, and end the job.
//
// The process aborts; the launcher and the node's leader notice the death and end the other ranks.
#pragma once

#include <fmt/format.h>

#include <string>

namespace grapnel::base {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& values);

}  // namespace grapnel::base

#define GRAPNEL_CHECK(condition, ...)                                                            \
  do {                                                                                           \
    if (!(condition)) [[unlikely]]                                                               \
      ::grapnel::base::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
