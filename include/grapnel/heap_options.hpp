// How a shared heap is made, and what a rank did with it. The calls are in grapnel/shared_heap.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace grapnel {

/// The options of `Runtime::open_shared_heap`. All ranks pass the same values.
struct SharedHeapOptions {
  std::size_t bytes = 0;  ///< its length; 0: GRAPNEL_DSM_HEAP_BYTES. Rounded up to 1 MiB
  int locks = 0;          ///< how many; 0: GRAPNEL_DSM_LOCKS
  int more_locks = 0;     ///< beside these, with the highest numbers: 64 at most; of a library between heap and program
  /// Threads of a rank write to the heap while another thread of that rank is in the heap's barrier. Then no page's
  /// home moves (GRAPNEL_DSM_MOVES).
  bool threads = false;
};

/// Where one rank's time in the heap went, ns. In a job of one node: in its barriers alone.
struct SharedHeapTimes {
  std::uint64_t trap_ns = 0;             ///< in faults, with the next four (which `touch` has, too)
  std::uint64_t lookup_ns = 0;           ///< asking the directory for homes
  std::uint64_t wire_ns = 0;             ///< waiting for pages
  std::uint64_t merge_ns = 0;            ///< putting them into the node's copies
  std::uint64_t map_ns = 0;              ///< mapping pages
  std::uint64_t flush_ns = 0;            ///< making and sending diffs
  std::uint64_t acknowledgement_ns = 0;  ///< waiting for their homes
  std::uint64_t lock_ns = 0;             ///< in locks taken and given back, with their diffs
  std::uint64_t barrier_ns = 0;          ///< in barriers, with their diffs
  /// Threads of a rank write to the heap while another thread of that rank is in the heap's barrier. Then no page's
  /// home moves (GRAPNEL_DSM_MOVES).
  bool threads = false;
};

/// What one rank did with the heap so far.
struct SharedHeapCounts {
  std::uint64_t faults = 0;              ///< accesses that were not served by a mapped page
  std::uint64_t write_faults = 0;        ///< those of them that were writes
  std::uint64_t foreign_faults = 0;      ///< of this process, outside the heap: left to the program's own handler
  std::uint64_t fetches = 0;             ///< messages that asked a home for pages; lrc: a writer for records
  std::uint64_t fetched_pages = 0;       ///< that they brought
  std::uint64_t home_questions = 0;      ///< messages that asked the directory for homes
  std::uint64_t notice_questions = 0;    ///< messages that asked a node for write notices
  std::uint64_t mapped_ahead = 0;        ///< valid pages that were mapped beside the one that faulted
  std::uint64_t merges_with_writes = 0;  ///< fetched pages to which the rank had written what is not at home yet
  std::uint64_t scans = 0;               ///< looks of a release at which pages were written
  std::uint64_t scanned_pages = 0;       ///< pages that they looked at
  std::uint64_t written_pages = 0;       ///< pages that releases found written
  std::uint64_t diffs = 0;               ///< that were sent; lrc: records that were fetched
  std::uint64_t empty_diffs = 0;         ///< pages that were written with what they had before
  std::uint64_t diff_messages = 0;       ///< in so many messages
  std::uint64_t diff_bytes = 0;          ///< of so many bytes
  std::uint64_t acknowledgements = 0;    ///< of diffs: one from each home of a release
  std::uint64_t intervals = 0;           ///< releases that named pages
  std::uint64_t notices_sent = 0;        ///< pages that they named
  std::uint64_t notices_received = 0;    ///< pages of other nodes' intervals that this rank applied for its node
  std::uint64_t unmapped_pages = 0;      ///< by acquires
  std::uint64_t locks = 0, barriers = 0;
  std::uint64_t lock_messages = 0;  ///< of this rank; of a node's leader: and of its server, answers included
  std::uint64_t moves = 0;          ///< pages whose home became this rank's node, in steps that it took for its node
  std::uint64_t condition_waits = 0;
  std::uint64_t condition_messages = 0;  ///< of waits, signals and broadcasts, to keepers of conditions and to waiters
  SharedHeapTimes times;
};

}  // namespace grapnel
