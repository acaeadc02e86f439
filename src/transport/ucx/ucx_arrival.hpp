// A bulk payload that a peer has announced to us, until it has landed or was declined.
//
// Threads: the owning worker's.
// Invariant: an arrival is in the free list, or held by the sink (offered), or held by UCX (landing), or has ended and
// is about to be called, or UCX still has it although its connection failed and that was reported (abandoned). Arrivals
// never move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/arrival_pool.hpp"

namespace grapnel::transport::ucx {

struct Path;

struct Arrival {
  enum class State { free, offered, landing, ended, abandoned };
  State state = State::free;
  Path* path = nullptr;
  void* announcement = nullptr;  ///< UCX's descriptor
  std::size_t bytes = 0;
  Completion completion;
  Status outcome;
};

}  // namespace grapnel::transport::ucx
