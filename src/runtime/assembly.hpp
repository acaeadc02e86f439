// The composition root: builds the layers of one rank in order, and takes them down in the opposite one.
//
// `Runtime::start` gives it the real machine; the tests give it a simulated one. Nothing below holds a global, so N
// ranks can live in one process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "base/config.hpp"
#include "grapnel/runtime.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"
#include "runtime/services.hpp"
#include "transport/transport.hpp"

namespace grapnel::runtime {

/// What a world gives one rank. Shared, because a simulated world keeps these itself.
struct Foundation {
  base::Config config;
  ServiceTypes services = standard_services();
  std::shared_ptr<os::Host> host;
  std::shared_ptr<launch::Launch> launch;
  /// Called once, in jobs of several nodes.
  std::function<Result<std::shared_ptr<transport::Transport>>(const base::Config&, const launch::Launch&)>
      make_transport;
};

/// Collective. Errors: whatever a layer's start answers; then nothing is left of it.
Result<std::unique_ptr<Runtime>> assemble(Foundation foundation);

/// Joins the process to its job. A front end over MPI passes mpi::join with its communicator.
using Join = std::function<Result<std::unique_ptr<launch::Launch>>(const base::Config&, os::Host&)>;

/// The machine this process runs on: settings from the environment, UCX, and the job that `join` finds. Collective.
Result<Foundation> real_foundation(const Join& join = launch::join);

}  // namespace grapnel::runtime
