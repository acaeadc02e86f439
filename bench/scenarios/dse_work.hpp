// What the jobs of `dse` do: the four tests of the DSE paper, by plain TCP sockets and by Grapnel in the same
// processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "session.hpp"

namespace grapnel::bench {

enum class DseTest : std::uint64_t {
  access,      ///< the last node reads what node 0 shares, again and again; the others rest
  broadcast,   ///< all other nodes get what node 0 shares
  all_to_all,  ///< every node gets what each other node shares
  barrier,
};

enum class DseWay : std::uint64_t {
  plain,       ///< limits/tcp_node.h
  get,         ///< one-sided reads, in the pattern of `plain`
  collective,  ///< `Runtime::broadcast`, `allgather`, `barrier`
  round_trip,  ///< whatever the test: a datagram between nodes 0 and 1
};

/// What a `share` finds out beside its result, in the board's numbers.
enum DseNumber : int { kDseMessages };  ///< of one operation, between nodes, answers counted, of all nodes together

/// Travels as the board's arguments.
struct DseWork {
  DseTest test{};
  DseWay way{};
  std::uint64_t bytes = 0;
  std::uint64_t operations = 1;

  void store(SharedPage& board) const;
  static DseWork load(SharedPage& board);
};

/// Every rank's part; each is a node of its own. The answer is the time of one operation, ns: all begin at the same
/// time, and it is over when the last node has done all of its own. A value that was read wrong ends the job.
std::uint64_t do_dse_work(Session& s);

}  // namespace grapnel::bench
