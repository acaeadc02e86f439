// What is inside a public PendingCollective: the call as the layer below knows it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "collective/started_call.hpp"
#include "grapnel/pending_collective.hpp"

namespace grapnel {

struct PendingCollectiveAccess {
  static PendingCollective wrap(std::shared_ptr<collective::StartedCall> call) {
    PendingCollective handle;
    handle.call_ = std::move(call);
    return handle;
  }
};

}  // namespace grapnel
