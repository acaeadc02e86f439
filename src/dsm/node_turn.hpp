// A step that one rank of a node takes for all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "core/core.hpp"

namespace grapnel::dsm {

/// The first rank of the node to come does `work`, the others wait until it has. All ranks of the node come, equally
/// often; `before`: how often this one came. `begun` and `done` lie in node memory, zero at first. Errors: those of
/// `work`; peer_dead.
template <typename Work>
Status once_per_node(core::Core& core, os::Word& begun, os::Word& done, std::uint32_t before, Work work) {
  std::uint32_t seen = before;
  if (begun.compare_exchange_strong(seen, before + 1)) {
    GRAPNEL_TRY(work());
    done.store(before + 1, std::memory_order_release);  // pairs with those that wait below
    core.host.wake(done);
    return {};
  }
  GRAPNEL_ASSERT(seen == before + 1, "step {} has begun before a rank of the node came to step {}", seen, before + 1);
  return core.waiting.on_word(
      done, [&](std::uint32_t now) { return static_cast<std::int32_t>(now - before) > 0; }, progress::Waiting::kForever,
      progress::Waiting::kLongestSleep_ns,
      [&] {
        return progress::WaitSubject{progress::WaitKind::barrier,
                                     "barrier",
                                     {core.world.key, before + 1},
                                     &core.launch.nodes().ranks_of[index(core.launch.node())]};
      });
}

}  // namespace grapnel::dsm
