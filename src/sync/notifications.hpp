// Notify: a rank notifies another that its writes to it so far are there, and the other waits for it.
//
// A counter per target and origin in the target's node memory; the origin's writes come before its increment: on the
// node by a release, elsewhere because the server executes the messages of an origin in the order sent, after native
// puts were flushed.
//
// Counts are monotone and compared by difference, so that wrap-around does no harm. Memory: 4 bytes per rank of the job
// for each rank of the node.
// Cost: `send`: one one-way message to another node, which has left on return; `wait`: none.
// Threads: any.
// Source: ARMCI's notify and wait-for-notify; thesis, section 1 (instead of put, fence, put).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/core.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "progress/handlers.hpp"
#include "progress/waiting.hpp"
#include "rma/rma.hpp"

namespace grapnel::sync {

extern const core::ServiceType kNotificationService;

class Notifications final : public core::Service {
 public:
  /// Collective in the order of carving.
  Notifications(core::Core& core, rma::Rma& rma);

  /// Errors: invalid_argument, peer_dead.
  Status send(Rank target);
  /// Waits for one more notification of `from` than was taken so far; how many have come.
  Result<std::uint32_t> wait(Rank from);

 private:
  /// The server's part; only where this rank leads its node.
  void add_handlers(progress::HandlerTable& table);
  os::Word& count_of(Rank target, Rank origin) { return counts_[place_[index(target)] * size_ + index(origin)]; }
  void increment(os::Word& count);
  Status check(Rank rank, const char* what) const;

  launch::Launch& launch_;
  progress::Waiting& waiting_;
  progress::Client* client_;
  rma::Rma& rma_;
  const std::size_t size_;
  std::vector<std::size_t> place_;                 ///< by rank: its place among its node's
  std::span<os::Word> counts_;                     ///< by place, by origin
  std::vector<std::atomic<std::uint32_t>> taken_;  ///< by origin
};

}  // namespace grapnel::sync
