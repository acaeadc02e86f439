// The heap's pages, allocated in blocks: a table in memory of node 0, changed by its ranks, and by its server for
// others.
//
// First fit from the lowest page on, under a word of the node: a rank that finds it taken waits, the server is asked
// again. A block's length lies at its first page.
//
// Between nodes a block that was freed is used again when two barriers of the heap have passed: then all that ranks
// wrote to it has reached its home, and no copy of it is valid that is older. Else what is written late by the one that
// freed it could come after what the next one writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dsm/heap_memory.hpp"

namespace grapnel::dsm {

class PageAllocator {
 public:
  explicit PageAllocator(HeapMemory& memory) : memory_(memory) {}

  static constexpr std::int64_t kNoRoom = -1;   ///< no block of that length is free
  static constexpr std::int64_t kNoBlock = -2;  ///< no block begins there

  /// The first page of a block of `pages`, or kNoRoom; nothing where another rank changes the table. A chunk is freed
  /// by no program.
  std::optional<std::int64_t> try_allocate(std::size_t pages, bool is_chunk);
  /// The block's length in pages, or kNoBlock; nothing as above.
  std::optional<std::int64_t> try_free(std::size_t page);

  /// Whether the answer makes sense: what a wish for `pages` may get.
  static bool is_answer(std::int64_t answer, std::size_t pages, std::size_t heap_pages) {
    return answer == kNoRoom || (answer >= 0 && static_cast<std::size_t>(answer) < heap_pages &&
                                 pages <= heap_pages - static_cast<std::size_t>(answer));
  }

 private:
  /// In a block's length.
  static constexpr std::uint32_t kChunk = std::uint32_t{1} << 30, kFreed = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kLength = kChunk - 1;
  static constexpr std::uint32_t kBarriers = 2;
  std::int64_t find(std::size_t pages) const;
  bool is_allocated(std::size_t page) const;
  void mark(std::size_t first, std::size_t pages, bool allocated);
  void take_back_what_rested();

  HeapMemory& memory_;
};

}  // namespace grapnel::dsm
