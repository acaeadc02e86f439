// The first part of a self-test's job: everything that needs no transport. The ranks join by the launcher, each node's
// leader looks at its machine and at the network, and rank 0 sends what all have found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/config.hpp"
#include "runtime/protocols.hpp"
#include "selftest/reach.hpp"
#include "selftest/steps.hpp"

namespace grapnel::tool::selftest {

struct Survey {
  bool usable = false;               ///< the nodes can reach each other: a job may be started
  runtime::ProtocolTable protocols;  ///< of rank 0's node
  std::optional<Bare> bare;          ///< rank 0
};

/// Collective; the job that it joins is over on return. Errors: the launcher's.
Result<Survey> survey(const base::Config& config, Steps& steps);

}  // namespace grapnel::tool::selftest
