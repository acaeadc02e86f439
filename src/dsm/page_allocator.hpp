// The heap's pages, allocated in blocks: a table in memory of node 0, changed by its ranks, and by its server for
// others.
//
// First fit from the lowest page on, under a word of the node: a rank that finds it taken waits, the server is asked
// again. A block's length stands at its first page.
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

  /// The first page of a block of `pages`, or kNoRoom; nothing where another rank changes the table.
  std::optional<std::int64_t> try_allocate(std::size_t pages);
  /// The block's length in pages, or kNoBlock; nothing as above.
  std::optional<std::int64_t> try_free(std::size_t page);

 private:
  class Turn;
  std::int64_t find(std::size_t pages) const;
  bool is_allocated(std::size_t page) const;
  void mark(std::size_t first, std::size_t pages, bool allocated);

  HeapMemory& memory_;
};

}  // namespace grapnel::dsm
