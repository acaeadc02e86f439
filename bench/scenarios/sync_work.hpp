// Fences and barriers after writes to other nodes, and the bare limits of a node: what the jobs of `sync` do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "session.hpp"

namespace grapnel::bench {

enum class SyncOperation : std::uint64_t {
  fence,        ///< after writes
  barrier,      ///< after writes
  bounce,       ///< limit: a cache line goes around the ranks of a node
  wake_around,  ///< limit: each rank of a node wakes the next from a futex
};

/// Travels as the board's arguments.
struct SyncWork {
  SyncOperation operation{};
  std::uint64_t targets = 0;  ///< other ranks that each rank writes to before
  std::uint64_t bytes = 8;    ///< of a write
  std::uint64_t gap_us = 0;   ///< between the writes and the operation
  std::uint64_t operations = 1;
  std::uint64_t settle_us =
      0;  ///< asleep between the writes and the operation: the writes are applied, not acknowledged

  void store(Board& board) const;
  static SyncWork load(Board& board);
};

/// Every rank's part. The answer is the caller's time in the operations, ns; of a limit, of one way around.
std::uint64_t do_sync_work(Session& s);

}  // namespace grapnel::bench
