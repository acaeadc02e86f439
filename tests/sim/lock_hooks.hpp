// std::mutex and std::shared_mutex inside a simulated world.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::sim {

/// Does nothing; a program that calls it has the hooks linked in.
void link_lock_hooks();

}  // namespace grapnel::sim
