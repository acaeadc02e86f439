// A broken invariant is our bug: print rank, place and values, and end the job.
//
// The process aborts; the launcher and the node's leader notice the death and end the other ranks.
// SPDX-License-Identifier: Apache-2.0
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

/// GRAPNEL_CHECK in debug and sanitizer builds, nothing in others. For what our own code guarantees; never for values
/// from the wire, from the caller, or from memory that a caller may overwrite.
#ifdef GRAPNEL_ASSERTIONS
#define GRAPNEL_ASSERT(condition, ...) GRAPNEL_CHECK(condition, __VA_ARGS__)
#else
#define GRAPNEL_ASSERT(condition, ...) static_cast<void>(sizeof(!(condition)))
#endif
