// What a rank of a simulated world builds on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "progress/settings.hpp"
#include "runtime/assembly.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {

/// Without heartbeats and deadlines: the ranks are threads of one process. A test of them sets the two itself.
inline base::Config without_watch(base::Config config) {
  auto& settings = config.change<progress::Settings>();
  settings.heartbeat_ms = settings.connect_ms = 0;
  return config;
}

/// The world keeps its own parts; the runtime borrows them.
inline runtime::Foundation foundation_of(sim::RankWorld& me) {
  runtime::Foundation foundation;
  foundation.config = without_watch(base::Config(runtime::settings_groups()));
  foundation.host = std::shared_ptr<os::Host>(std::shared_ptr<void>(), &me.host);
  foundation.launch = std::shared_ptr<launch::Launch>(std::shared_ptr<void>(), &me.launch);
  foundation.make_transport = [&me](const base::Config&, const launch::Launch&) {
    return Result<std::shared_ptr<transport::Transport>>(
        std::shared_ptr<transport::Transport>(std::shared_ptr<void>(), &me.transport));
  };
  return foundation;
}

}  // namespace grapnel::test
