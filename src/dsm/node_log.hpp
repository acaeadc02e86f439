// What the ranks of a node know together: its clock, and three logs, in memory of the node.
//
//   clock     by node: its intervals up to there are applied to this node's page words
//   stale     pages of which a notice was applied; each rank reads it from its own place when it acquires
//   served    home pages that the server was asked for; each rank reads it from its own place when it releases
//   notices   the runs of pages that this node's intervals name, for nodes that ask. What the ring has dropped is
//             answered by the words `last` of all pages, so it never has to be collected
//
// Rule of all rules: an interval is made (and so can be known elsewhere) only after its content is published: with hlrc
// the homes have acknowledged that all of its diffs are applied.
//
// With lrc the clock is closed: where it has an interval, it has all that the interval's writer knew. So notices of
// several nodes are applied at once, and none that the releaser did not know.
//
// Threads: any; one mutex of the node guards clock, intervals and the stale log, and no thread sends under it. The
// server reads without it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "dsm/heap_memory.hpp"
#include "dsm/notices.hpp"
#include "launch/node_mutex.hpp"

namespace grapnel::dsm {

class Protocol;

/// Intervals of another node.
struct News {
  std::size_t node = 0;
  std::uint64_t latest = 0;  ///< all up to this one are here or known
  std::vector<Interval> intervals;
};

class NodeLog {
 public:
  NodeLog(launch::Launch& launch, os::Host& host, HeapMemory& memory)
      : memory_(memory), me_(index(launch.node())), mutex_(launch, host, memory.node().mutex) {}

  std::uint64_t known(std::size_t node) const {
    return memory_.clock(node).load(std::memory_order_acquire);  // pairs with `apply` and `make_interval`
  }
  /// As it was at one moment. Errors: peer_dead.
  Result<Clock> clock();
  /// What is read under it is of one moment: clock, and what `Protocol::take_notice` keeps. Errors: peer_dead.
  Result<launch::NodeMutex::Guard> lock() { return mutex_.lock(); }

  /// A new interval of this node that names the cached pages, and those of the home pages that are tracked; the others
  /// of them are appended to `untracked`. No page: no interval, number 0. Both ascend. Errors: peer_dead.
  Result<Interval> make_interval(const std::vector<std::size_t>& cached, const std::vector<std::size_t>& at_home,
                                 std::vector<std::size_t>& untracked, Protocol& protocol);
  /// Applies, all at once, intervals of other nodes that are not known yet. Errors: no_memory, peer_dead.
  Status apply(const std::vector<News>& news, Protocol& protocol);
  /// The newest intervals of this node, newest first, of `most` runs at most.
  std::vector<Interval> newest(std::size_t most) const;

  /// Calls `visit(page)` for each entry from `cursor` on, which then is at the end. False: the log has dropped some of
  /// them; then what was visited may be wrong or not all, and every page must be looked at.
  template <typename Visit>
  bool read_stale(std::uint64_t& cursor, Visit visit) const {
    return read(memory_.node().stale, cursor,
                [&](std::uint64_t at) { visit(memory_.stale_entry(at).load(std::memory_order_relaxed)); });
  }
  template <typename Visit>
  bool read_served(std::uint64_t& cursor, Visit visit) const {
    return read(memory_.node().served, cursor,
                [&](std::uint64_t at) { visit(memory_.served_entry(at).load(std::memory_order_relaxed)); });
  }

  /// Called by the server before it serves the page: marks and logs the serve. The server executes a full fence between
  /// this call and its copy of the page.
  void count_serve(std::size_t page);

  /// The server's answer to another node: pages that intervals after `since` name, at most `most` runs.
  struct Answer {
    std::uint64_t latest = 0;   ///< all up to this interval are in it
    std::size_t next_page = 0;  ///< 0: that is all; else to be asked again from there on
    std::vector<os::Pages> runs;
  };
  Answer notices_since(std::uint64_t since, std::size_t from_page, std::size_t most) const;

 private:
  template <typename Visit>
  static bool read(const LogEnds& ends, std::uint64_t& cursor, Visit visit) {
    const std::uint64_t end = ends.end.load(std::memory_order_acquire);
    const std::uint64_t begin = std::exchange(cursor, end);
    if (end - begin > HeapMemory::kLogEntries) return false;
    for (std::uint64_t at = begin; at < end; ++at) visit(at);
    return ends.is_whole(begin, HeapMemory::kLogEntries);
  }
  void add_notices(const Interval& interval);
  Status apply(const News& news, Protocol& protocol);
  bool add_from_ring(std::uint64_t since, std::size_t most, std::vector<os::Pages>& runs) const;

  HeapMemory& memory_;
  const std::size_t me_;
  launch::NodeMutex mutex_;
};

}  // namespace grapnel::dsm
