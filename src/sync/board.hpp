// An allgather of small values over all ranks: what allocation needs, without the launcher.
//
// Every node has a board with a slot per rank of the job. A rank writes its own slot; the last of a node to arrive
// sends the node's slots to every other node's server, which pins them to its board, and waits until all bundles have
// come; then it opens the gate and everybody reads the whole board.
//
// There are two boards, used in turn. A slot of exchange e is overwritten in exchange e+2 at the earliest, and nobody
// can be there before all have finished reading e: to complete e+1 all must have arrived at it.
//
// Cost: N−1 messages per node (more where a node's slots exceed a chunk), one in-node gate.
// Threads: collective calls, one at a time per rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grapnel/status.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "progress/handlers.hpp"
#include "progress/waiting.hpp"

namespace grapnel::sync {

class Board final : public launch::Exchange {
 public:
  static constexpr std::size_t kSlotBytes = 512;
  static constexpr std::size_t kMostBytes = kSlotBytes - sizeof(std::uint32_t);

  /// Collective in the order of carving. `client` is null in a job of one node.
  Board(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client);

  void add_handlers(progress::HandlerTable& table);

  /// World groups only; `mine` is at most kMostBytes. Errors: peer_dead, unavailable, invalid_argument.
  Result<std::vector<Bytes>> allgather(const launch::Group& group, ByteView mine) override;

 private:
  struct Slot {
    std::uint32_t bytes;
    std::byte data[kMostBytes];
  };
  struct alignas(64) Words {
    os::Word arrived;
    alignas(64) os::Word gate;
    alignas(64) os::Word received[2];  ///< slots pinned to each board by the server, over all its exchanges
  };

  progress::Outcome pin(progress::Request& request);
  Status publish_node();
  Slot& slot(std::uint32_t epoch, Rank rank) { return boards_[(epoch % 2) * size_ + index(rank)]; }

  launch::Launch& launch_;
  progress::Waiting& waiting_;
  progress::Client* client_;
  const std::size_t size_;
  Words& words_;
  std::span<Slot> boards_;
  std::uint32_t epoch_ = 0;
};

}  // namespace grapnel::sync
