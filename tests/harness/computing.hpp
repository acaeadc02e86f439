// A rank that computes: it calls nothing of Grapnel until the others are through. No time is judged, since the machine
// may be busy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "harness/access.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {

/// Ends when `word`, in the rank's own memory, holds `value`; false after 30 seconds without it.
inline bool compute_until(Runtime& g, void* word, std::uint64_t value) {
  os::Host& host = *g.implementation().host;
  const std::atomic_ref<std::uint64_t> mine(*static_cast<std::uint64_t*>(word));
  const std::uint64_t end_ns = host.now_ns() + 30 * base::kSecond_ns;
  while (mine.load(std::memory_order_acquire) != value) {
    if (host.now_ns() > end_ns) return false;
    sim::pass_time(host, 100 * base::kMicrosecond_ns);
  }
  return true;
}

}  // namespace grapnel::test
