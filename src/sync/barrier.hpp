// The plain barrier of the whole job: arrival in shared memory inside a node, dissemination between nodes.
//
// Each rank counts itself in; the last of its node goes on the wire: in round k it tells node (me + 2^k) mod N and
// waits to be told by node (me − 2^k) mod N; after ⌈log2 N⌉ rounds every node has heard, directly or not, of every
// other. Then it opens the node's gate.
//
// Words (node memory, all monotone and compared by difference, so that wrap-around does no harm):
//   arrived   ranks of this node that came to the current barrier; reset by the last before it opens the gate
//   gate      barriers that are over
//   heard[k]  messages of round k received so far; written by the server
//
// It orders nothing by itself: callers fence first. Cost: ⌈log2 N⌉ messages per node.
// Threads: collective calls, one at a time per rank.
// Source: thesis, section 4.1 (the plain barrier under MPI_Barrier).
#pragma once

#include <cstdint>
#include <span>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "progress/handlers.hpp"
#include "progress/waiting.hpp"

namespace grapnel::sync {

class Barrier {
 public:
  /// Collective in the order of carving. `client` is null in a job of one node.
  Barrier(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client);

  /// The server's part; only where this rank leads its node.
  void add_handlers(progress::HandlerTable& table);

  /// Errors: peer_dead.
  Status wait();

 private:
  static constexpr std::size_t kMaxRounds = 32;
  struct alignas(64) Words {
    os::Word arrived;
    alignas(64) os::Word gate;
    alignas(64) os::Word heard[kMaxRounds];
  };

  Status meet_other_nodes();

  launch::Launch& launch_;
  progress::Waiting& waiting_;
  progress::Client* client_;
  Words& words_;
  std::uint32_t barriers_done_ = 0;  ///< by this rank
};

}  // namespace grapnel::sync
