// What every service builds on: the layers up to segment, of one rank.
//
// Threads: those of its parts. The Core outlives all services.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/check.hpp"
#include "base/config.hpp"
#include "core/service.hpp"
#include "exchange/group_exchange.hpp"
#include "exchange/letters.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"
#include "progress/client.hpp"
#include "progress/server.hpp"
#include "progress/waiting.hpp"
#include "segment/segment.hpp"
#include "transport/transport.hpp"

namespace grapnel::core {

[[noreturn]] void no_such_service();

struct Core {
  const base::Config& config;
  os::Host& host;
  launch::Launch& launch;
  const launch::Group& world;
  progress::Waiting& waiting;
  exchange::Letters& letters;
  exchange::GroupExchange& exchange;
  segment::SegmentTable& segments;
  // Null in a job of one node.
  transport::Transport* transport;
  progress::Client* client;
  progress::Server* server;  ///< null where this rank does not lead its node, too

  std::vector<Service*> opened = {};  ///< in order

  /// The service of that type, which was opened before. Ends the job where there is none: a mistake in the array.
  template <typename Type>
  Type& service() const {
    for (Service* one : opened) {
      if (Type* const found = dynamic_cast<Type*>(one)) return *found;
    }
    no_such_service();
  }
};

}  // namespace grapnel::core
