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
};

/// What one rank did with the heap so far.
struct SharedHeapCounts {
  std::uint64_t faults = 0;            ///< accesses that were not served by a mapped page
  std::uint64_t fetches = 0;           ///< messages that asked a home for pages
  std::uint64_t fetched_pages = 0;     ///< that they brought
  std::uint64_t home_questions = 0;    ///< messages that asked the directory for homes
  std::uint64_t notice_questions = 0;  ///< messages that asked a node for write notices
  std::uint64_t mapped_ahead = 0;      ///< valid pages that were mapped beside the one that faulted
  std::uint64_t written_pages = 0;     ///< pages that releases found written
  std::uint64_t diffs = 0;             ///< that were sent
  std::uint64_t diff_messages = 0;     ///< in so many messages
  std::uint64_t diff_bytes = 0;        ///< of so many bytes
  std::uint64_t intervals = 0;         ///< releases that named pages
  std::uint64_t unmapped_pages = 0;    ///< by acquires
  std::uint64_t locks = 0, barriers = 0;
};

}  // namespace grapnel
