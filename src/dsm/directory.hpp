// Which node keeps a page. Its entry is at one node, by its number: runs of 512 pages go around the nodes.
//
// With first_touch the first node to ask becomes the home; with block and round_robin the entry is computed, and no
// node is asked.
//
// Threads: any, of any rank of the node that has the entries, and its server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dsm/heap_memory.hpp"
#include "dsm/messages.hpp"
#include "dsm/settings.hpp"

namespace grapnel::dsm {

class Directory {
 public:
  Directory(HeapMemory& memory, HomeChoice choice) : memory_(memory), choice_(choice) {}

  /// The node that has the page's entry.
  std::size_t keeper(std::size_t page) const { return page / kRun % memory_.node_count(); }

  /// 1 + the home, where it is computed; else 0.
  std::uint32_t computed_home(std::size_t page) const {
    const std::size_t nodes = memory_.node_count();
    if (choice_ == HomeChoice::block) return static_cast<std::uint32_t>(1 + page * nodes / memory_.page_count());
    if (choice_ == HomeChoice::round_robin) return static_cast<std::uint32_t>(1 + page % nodes);
    return 0;
  }

  /// Each node in turn has the entries of so many pages that follow each other.
  static constexpr std::size_t kRun = 512;

  /// Whether the node has the entries of all of them, which are of one run.
  bool keeps(os::Pages pages, std::size_t node) const {
    return pages.count > 0 && pages.first / kRun == (pages.first + pages.count - 1) / kRun &&
           keeper(pages.first) == node;
  }

  /// At the keeper: gives those of the pages to `node` that have no home. `others`: at home elsewhere, and the first.
  struct Placed {
    std::uint32_t others = 0, first_other = 0;
  };
  Placed place(os::Pages pages, std::size_t node) {
    Placed placed;
    for (std::size_t page = pages.first; page < pages.first + pages.count; ++page) {
      std::uint32_t home = 0;
      const bool is_new = memory_.directory(page).compare_exchange_strong(home, static_cast<std::uint32_t>(node + 1),
                                                                          std::memory_order_relaxed);
      if (is_new || home == node + 1) continue;
      if (placed.others++ == 0) placed.first_other = static_cast<std::uint32_t>(page);
    }
    return placed;
  }

  /// At the keeper: the page's home has moved. release: pairs with `look`, whose reader then finds that the step began.
  void move(std::size_t page, std::size_t node) {
    memory_.directory(page).store(static_cast<std::uint32_t>(node + 1), std::memory_order_release);
  }

  /// At the keeper: gives the page to `node` where it has no home, and answers the homes of its block.
  HomesReply look(std::size_t page, std::size_t node) {
    const std::size_t block = page / kHomesPerReply * kHomesPerReply;
    const std::size_t block_end = std::min(block + kHomesPerReply, memory_.page_count());
    std::uint32_t none = 0;
    // relaxed: the page is zero until a rank writes it, wherever its home is.
    memory_.directory(page).compare_exchange_strong(none, static_cast<std::uint32_t>(node + 1),
                                                    std::memory_order_relaxed);
    HomesReply reply;
    for (std::size_t at = block; at < block_end; ++at) {
      static_assert(kMostNodes < UINT8_MAX);
      reply.homes[at - block] = static_cast<std::uint8_t>(memory_.directory(at).load(std::memory_order_acquire));
    }
    // After the entries: where one of them has moved already, the answer is of the era that begins.
    reply.era = memory_.node().step_begun.load(std::memory_order_acquire);
    return reply;
  }

 private:
  HeapMemory& memory_;
  const HomeChoice choice_;
};

}  // namespace grapnel::dsm
