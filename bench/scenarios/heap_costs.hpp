// What single operations of the shared heap take, as the TreadMarks paper measures them: page, diff, lock, barrier.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "session.hpp"

namespace grapnel::bench {

enum class HeapCost : std::uint64_t {
  page,     ///< rank 1 reads a page whose home, rank 0, has written it since; one page a message
  diff,     ///< rank 1 releases a lock of its own, having written so many words of one page at home in rank 0
  lock,     ///< rank 1 acquires a free lock at home in rank 0; nothing was written
  barrier,  ///< of all ranks; nothing was written
};

/// Travels as the board's arguments.
struct HeapWork {
  HeapCost cost{};
  std::uint64_t words = 0;  ///< of 8 bytes, of a diff
  std::uint64_t operations = 1;

  void store(SharedPage& board) const;
  static HeapWork load(SharedPage& board);
};

/// Every rank's part; each is a node of its own, and the job has GRAPNEL_DSM_READ_AHEAD=1. The answer is the time of
/// one operation, ns, at the rank that is named above; of a barrier, at rank 0. Opens the heap when it is called first.
std::uint64_t do_heap_work(Session& s);

}  // namespace grapnel::bench
