// A bulk payload that a peer has announced to us, until it has landed or was declined.
//
// Threads: the owning worker's.
// Invariant: an arrival is in the free list, or held by the sink (offered), or being received (landing), or has ended
// and its completion is about to be called. Arrivals never move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "transport/transport.hpp"

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

class ArrivalPool {
 public:
  Arrival& acquire() {
    if (free_.empty()) free_.push_back(&arrivals_.emplace_back());
    Arrival& arrival = *free_.back();
    free_.pop_back();
    arrival.state = Arrival::State::offered;
    return arrival;
  }
  void release(Arrival& arrival) {
    arrival = Arrival{};
    free_.push_back(&arrival);
  }

 private:
  std::deque<Arrival> arrivals_;
  std::vector<Arrival*> free_;
};

}  // namespace grapnel::transport::local
