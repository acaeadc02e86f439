// The machine's monotonic clock, for deadlines of code that has no host. What runs in simulated worlds asks its host.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <cstdint>

#include "base/units.hpp"

namespace grapnel::os {

inline std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * base::kSecond_ns + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace grapnel::os
