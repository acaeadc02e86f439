// A bulk payload that a peer has announced to us, until it has landed or was declined.
//
// Threads: the owning worker's.
// Invariant: an arrival is in the free list, or held by the sink (offered), or held by UCX (landing), or has ended and
// is about to be told, or UCX still has it although its connection failed and that was told (abandoned). Arrivals never
// move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "transport/transport.hpp"

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
  bool empty() const { return arrivals_.size() == free_.size(); }
  template <typename Visitor>
  void for_each(Arrival::State state, Visitor visit) {
    for (Arrival& arrival : arrivals_) {
      if (arrival.state == state) visit(arrival);
    }
  }

 private:
  std::deque<Arrival> arrivals_;
  std::vector<Arrival*> free_;
};

}  // namespace grapnel::transport::ucx
