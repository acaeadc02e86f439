// Bulk payloads that peers have announced, in slots that never move: what the transports' arrivals have in common.
//
// Threads: the owning worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "base/check.hpp"
#include "transport/transport.hpp"

namespace grapnel::transport {

/// `Arrival` has `state`, of an enumeration `State` with `free` and `offered`, and `bytes`.
template <typename Arrival>
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
  void for_each(typename Arrival::State state, Visitor visit) {
    for (Arrival& arrival : arrivals_) {
      if (arrival.state == state) visit(arrival);
    }
  }

 private:
  std::deque<Arrival> arrivals_;
  std::vector<Arrival*> free_;
};

/// The arrival that the sink received or declines, into `bytes` of room.
template <typename Arrival>
Arrival& offered_arrival(BulkHandle bulk, std::size_t bytes) {
  auto* arrival = static_cast<Arrival*>(bulk.handle);
  GRAPNEL_CHECK(arrival != nullptr && arrival->state == Arrival::State::offered,
                "a bulk payload was received or declined twice");
  GRAPNEL_CHECK(arrival->bytes == bytes, "{} bytes of room for a bulk payload of {}", bytes, arrival->bytes);
  return *arrival;
}

}  // namespace grapnel::transport
