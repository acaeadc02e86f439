// A bulk payload that a peer has announced to us, until it has landed or was declined.
//
// Threads: the owning worker's.
// Invariant: an arrival is in the free list, or held by the sink (offered), or being received (landing), or has ended
// and its completion is about to be called. Arrivals never move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/arrival_pool.hpp"

namespace grapnel::transport::local {

struct Connection;

struct Arrival {
  enum class State { free, offered, landing, ended };
  State state = State::free;
  Connection* connection = nullptr;
  std::uint32_t number = 0;
  std::size_t bytes = 0;
  std::size_t received = 0;
  std::byte* place = nullptr;
  Completion completion;
  Status outcome;
};

}  // namespace grapnel::transport::local
