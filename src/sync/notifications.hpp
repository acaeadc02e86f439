// Notify: a rank tells another that its writes to it so far are there, and the other waits for it.
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
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "progress/handlers.hpp"
#include "progress/waiting.hpp"
#include "rma/rma.hpp"

namespace grapnel::sync {

class Notifications {
 public:
  /// Collective in the order of carving. `client` is null in a job of one node.
  Notifications(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client, rma::Rma& rma);

  /// The server's part; only where this rank leads its node.
  void add_handlers(progress::HandlerTable& table);

  /// Errors: invalid_argument, peer_dead.
  Status send(Rank target);
  /// Waits for one more notification of `from` than was taken so far; how many have come.
  Result<std::uint32_t> wait(Rank from);
  /// The same in pieces: the number of that notification, which the caller now has to wait for;
  Result<std::uint32_t> take(Rank from);
  /// … and whether it came within about so long; `come`: how many have then. Errors: peer_dead.
  Result<bool> wait_within(Rank from, std::uint32_t number, std::uint64_t timeout_ns, std::uint32_t& come);

 private:
  os::Word& count_of(Rank target, Rank origin) { return counts_[place_[index(target)] * size_ + index(origin)]; }
  void increment(os::Word& count);
  Status check(Rank rank, const char* what) const;
  Status wait_until(Rank from, std::uint32_t number, std::uint64_t until_ns, std::uint32_t& come);

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
