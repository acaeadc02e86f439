// Moves of homes: in a barrier of the heap, a page's home moves to the node that alone has written the page lately.
//
//   when it is written        the home notes by which node: its server at a diff, its ranks when an interval names it
//   in the node's step        looks at what other nodes wrote in eras that are over, and keeps a list of proposals
//   at the next barrier       the leader brings the list; every node gets those of all nodes, and applies them in
//                             its step (moves.cpp)
//
// Threads: `note_writer` from any, of any rank of the node, and its server; the rest by the rank that takes the step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "dsm/heap_memory.hpp"

namespace grapnel::dsm {

/// Which nodes wrote a home page in the three last eras in which it was written.
struct Writers {
  static constexpr std::uint8_t kNone = 0, kSeveral = 255;  ///< else 1 + the node
  /// The page came here by a move; it has left by one, in `era`.
  static constexpr std::uint8_t kCame = 1, kLeft = 2;

  std::uint32_t era = 0;  ///< the newest of them
  std::uint8_t newest = kNone, before = kNone, older = kNone;
  std::uint8_t moved = 0;

  static Writers of(const PageWords& words) {
    return std::bit_cast<Writers>(words.writers.load(std::memory_order_acquire));
  }
  std::uint64_t packed() const { return std::bit_cast<std::uint64_t>(*this); }

  /// Returns whether it is the first write of that era.
  bool add(std::uint32_t era_of_write, std::size_t node);
  /// The node that should keep the page: the only one that wrote it in the last era before `now` that did; in the last
  /// two of them, where it has moved before, so that it does not go to and fro.
  std::optional<std::size_t> better_home(std::uint32_t now, std::size_t me) const;
  bool is_written_since(std::uint32_t now) const {
    return newest != kNone && static_cast<std::int32_t>(era - now) >= 0;
  }
};
static_assert(sizeof(Writers) == sizeof(std::uint64_t));

/// Returns whether it is the first write of that era.
bool note_writer(PageWords& words, std::uint32_t era, std::size_t node);

/// By the server, at a diff: a page of this node that another one wrote.
void note_diff(HeapMemory& memory, std::size_t page, std::uint32_t era, std::size_t node);

}  // namespace grapnel::dsm
