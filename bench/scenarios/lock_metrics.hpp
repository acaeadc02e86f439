// What the jobs of `locks` do: the MPI paper's measurements of one kind of lock, all ranks together.
//
// The home of the locks, the paper's target, is rank 0; its origins are ranks 1, 2, …. Source: mpi2-passive, section 6.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "session.hpp"

namespace grapnel::bench {

enum class LockOperation : std::uint64_t {
  overhead,     ///< 6.1: the last rank acquires and releases, alone; `extra`: the home
  nonblocking,  ///< section 3: it starts an acquisition, computes for `extra` us, and waits for it
  delay,        ///< 6.2: ranks 1 and 2 hand the lock over, `extra` times, asking first in turn
  load,         ///< 6.3, 6.4: `origins` ranks acquire and release as fast as they can
  counts,       ///< 6.4: messages of a free acquisition, a release and a hand-off
  computing,    ///< 6.5: rank 1 acquires and releases every `extra` us, while rank 0 computes in `origins` threads
};

/// Which lock each origin of `load` uses.
enum class LockLayout : std::uint64_t {
  one,    ///< all the same
  many,   ///< each its own, at the same home
  pairs,  ///< each its own, at a home of its own: the first half of the ranks are targets, the second origins
};

/// Travels as the board's arguments.
struct LockWork {
  LockOperation operation{};
  LockKind kind{};
  bool shared = false;
  LockLayout layout{};
  std::uint64_t origins = 1;
  std::uint64_t window_us = 0;  ///< how long it is measured; `delay` and `counts` have no such end
  std::uint64_t extra = 0;

  void store(SharedPage& board) const;
  static LockWork load(SharedPage& board);
};

/// Where on the board each result is; times in ns.
enum LockNumber : std::uint8_t {
  // overhead
  kAcquire = 0,  ///< medians
  kRelease,
  kBoth,
  // nonblocking
  kStart = 0,
  kWait,
  // delay
  kDelay = 0,  ///< 0: no hand-over was seen
  // load and computing
  kRate = 0,       ///< acquisitions per second, summed
  kAcquisitions,   ///< summed
  kMessages,       ///< of all ranks and servers
  kIteration,      ///< mean time of an acquisition and its release, summed over the origins
  kOrigins,        ///< so many
  kLost,           ///< of the processor time of the home's process, the part that its computing threads did not have
  kTargetBusy_ns,  ///< processor time of the home's process
  // counts
  kFreeAcquire = 0,
  kFreeRelease,
  kHandOff,
};

/// Every rank's part; what was found is on the board. The answer is its time, ns.
std::uint64_t do_lock_metrics(Session& s);

}  // namespace grapnel::bench
