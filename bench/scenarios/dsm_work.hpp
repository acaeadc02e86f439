// What the jobs of `dsm` do: accesses, releases and synchronization of the shared heap, counted or timed, beside what
// they are made of; and jacobi in the heap, in plain shared memory, and by hand.
//
// Rank 0 accesses, rank 1 is the home of the pages: it touches them first. A rank that has nothing to do sleeps on the
// board, outside Grapnel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "session.hpp"

namespace grapnel::bench {

enum class DsmOperation : std::uint64_t {
  // Counts: each work stores its numbers on the board, in the order of DsmNumber. scenarios/dsm_counts.cpp
  count_miss,
  count_sequence,     ///< of `pages` reads
  count_first_write,  ///< to `pages` pages that are mapped
  count_release,      ///< of `pages` pages of each other node, written whole
  count_barrier,      ///< nothing written
  count_hand_off,     ///< of a lock from rank 1 to rank 2, each its own node, nothing written
  count_home,         ///< pages that only their home uses, again and again
  count_jacobi,       ///< rank 0 has initialised the grid of `n` · `n`; from the eighth barrier on
  count_sor,
  count_one_node,  ///< a bit of everything
  // Times of one operation. scenarios/dsm_costs.cpp
  get_and_trap,      ///< limit: a get of 4 KiB and a bare trap
  miss,              ///< of a stale page; `busy`: the home's rank computes
  first_miss,        ///< of a page that this node never had
  sequence,          ///< of one of `pages` pages that are read in order; the node has memory for them
  first_sequence,    ///< the same where it has none yet
  diff_and_message,  ///< limit: a bare diff of a page with `words` changed words, and its part of a bare message
  release,           ///< of one page of as many
  runtime_barrier,   ///< limit
  heap_barrier,      ///< nothing written; `pages` cached pages are mapped
  runtime_hand_off,  ///< limit: from a release of the lock until the rank that waits for it has it
  heap_hand_off,
  // Times of `iterations` of jacobi, `n` · `n`. scenarios/dsm_jacobi.cpp
  jacobi_sequential,  ///< by rank 0, in its own memory
  jacobi_plain,       ///< limit: in memory that the ranks of a node share
  jacobi_by_hand,     ///< limit: rows in each rank's own memory, a get of each edge row, a barrier
  jacobi_heap,
};

enum class DsmTrap : std::uint64_t { uffd, mprotect };

/// Travels as the board's arguments.
struct DsmWork {
  DsmOperation operation{};
  DsmTrap trap{};  ///< of the job, for the limit
  std::uint64_t pages = 0, words = 0;
  bool busy = false;
  std::uint64_t n = 0, iterations = 0;

  void store(SharedPage& board) const;
  static DsmWork load(SharedPage& board);
};

/// Where on the board a count is.
enum DsmNumber : std::uint8_t {
  // of `count_miss` and `count_first_write`: of all accesses together; `count_home`, `count_one_node`: of all ranks
  kSignals = 0,
  kWireMessages,  ///< answers counted
  kDiffs,
  kIntervals,
  // count_sequence
  kFetches = 0,
  kHomeQuestions,
  // count_release
  kDiffMessages = 0,
  kLeastMessages,  ///< ⌈bytes / 64 KiB⌉, summed over the homes
  kAcknowledgements,
  kHomes,
  // count_barrier
  kOfHeap = 0,
  kOfRuntime,
  // count_hand_off
  kHandOffMessages = 0,
  // count_jacobi and count_sor
  kGridDiffs = 0,
  kGridRequests,  ///< per barrier, of the node that asks most
  // jacobi_*
  kChecksum = 0,  ///< of the result: the same for all
};

/// Every rank's part. The answer is rank 0's time of one operation, ns; of counts, nothing.
std::uint64_t do_dsm_work(Session& s);

}  // namespace grapnel::bench
