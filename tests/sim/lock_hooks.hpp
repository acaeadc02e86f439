// std::mutex and std::shared_mutex inside a simulated world.
#pragma once

namespace grapnel::sim {

/// Does nothing; whoever calls it has the hooks linked into the program.
void link_lock_hooks();

}  // namespace grapnel::sim
