// The connection on which an origin sends, and how much of its answers may wait to leave.
//
// The first sound request on a connection fixes whose it is: a rank's, or a node's server's. From then on that origin
// sends there and nowhere else. A server may have two: where two servers connect to each other, a transport may see
// the one connection before it has made its own, and then by that.
//
// A request's charge covers its answer, and an answer that has not left is charged until it has: an origin that asks
// and does not read is executed no further when a window of answers waits for it.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "progress/internal/execution.hpp"

namespace grapnel::progress {

bool Server::bind(std::int32_t origin, transport::ReplyPath path) {
  const auto known = origin_of_.find(path.handle);
  if (known != origin_of_.end()) return false;  // this origin's are found before this
  if (origin < launch_.size()) {
    transport::ReplyPath& way = origins_[static_cast<std::size_t>(origin)].path;
    if (way.handle != nullptr) return false;
    way = path;
  } else {
    ServerWays& ways = server_ways_[static_cast<std::size_t>(origin - launch_.size())];
    if (ways.second != nullptr) return false;
    ways.second = std::exchange(ways.first, path.handle);
  }
  origin_of_.emplace(path.handle, origin);
  return true;
}

bool Server::is_way_of_server(std::int32_t origin, transport::ReplyPath path) {
  const ServerWays& ways = server_ways_[static_cast<std::size_t>(origin - launch_.size())];
  return ways.first == path.handle || ways.second == path.handle || bind(origin, path);
}

void Server::keep_leaving() {
  spare_leaving_->origin->leaving += spare_leaving_->charge;
  spare_leaving_ =
      free_leavings_ != nullptr ? std::exchange(free_leavings_, free_leavings_->next) : &leavings_.emplace_back();
}

// From the worker's progress.
void Server::answer_left(void* context, const Status& outcome) {
  auto& leaving = *static_cast<Leaving*>(context);
  Origin& origin = *leaving.origin;
  Server& self = *origin.server;
  origin.leaving -= leaving.charge;
  const transport::Completion sent = leaving.sent;
  leaving.next = std::exchange(self.free_leavings_, &leaving);
  if (sent.notify != nullptr) sent.notify(sent.context, outcome);
  if (outcome.ok() && !origin.parked.empty()) self.run_parked(origin);
}

}  // namespace grapnel::progress
