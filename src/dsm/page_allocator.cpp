// SPDX-License-Identifier: Apache-2.0
#include "dsm/page_allocator.hpp"

#include "dsm/table_turn.hpp"

namespace grapnel::dsm {

// relaxed, all: under the word.

bool PageAllocator::is_allocated(std::size_t page) const {
  return (memory_.allocated()[page / 64].load(std::memory_order_relaxed) >> (page % 64) & 1) != 0;
}

void PageAllocator::mark(std::size_t first, std::size_t pages, bool allocated) {
  for (std::size_t page = first; page < first + pages; ++page) {
    std::atomic<std::uint64_t>& word = memory_.allocated()[page / 64];
    const std::uint64_t bit = std::uint64_t{1} << (page % 64);
    const std::uint64_t before = word.load(std::memory_order_relaxed);
    word.store(allocated ? before | bit : before & ~bit, std::memory_order_relaxed);
  }
}

std::int64_t PageAllocator::find(std::size_t pages) const {
  std::size_t free = 0;
  for (std::size_t page = 0; page < memory_.page_count(); ++page) {
    if (page % 64 == 0 && memory_.allocated()[page / 64].load(std::memory_order_relaxed) == UINT64_MAX) {
      free = 0;
      page += 63;
      continue;
    }
    free = is_allocated(page) ? 0 : free + 1;
    if (free == pages) return static_cast<std::int64_t>(page + 1 - pages);
  }
  return kNoRoom;
}

std::optional<std::int64_t> PageAllocator::try_allocate(std::size_t pages, bool is_chunk) {
  const TableTurn turn(memory_.node().memory_mutex);
  if (!turn.has()) return std::nullopt;
  if (pages == 0 || pages > memory_.page_count()) return kNoRoom;
  take_back_what_rested();
  const std::int64_t first = find(pages);
  if (first < 0) return first;
  mark(static_cast<std::size_t>(first), pages, true);
  memory_.block_pages(static_cast<std::size_t>(first))
      .store(static_cast<std::uint32_t>(pages) | (is_chunk ? kChunk : 0), std::memory_order_relaxed);
  return first;
}

std::optional<std::int64_t> PageAllocator::try_free(std::size_t page) {
  const TableTurn turn(memory_.node().memory_mutex);
  if (!turn.has()) return std::nullopt;
  if (page >= memory_.page_count()) return kNoBlock;
  std::atomic<std::uint32_t>& block = memory_.block_pages(page);
  const std::uint32_t pages = block.load(std::memory_order_relaxed);
  if (pages == 0 || (pages & (kChunk | kFreed)) != 0) return kNoBlock;
  if (memory_.node_count() == 1) {
    block.store(0, std::memory_order_relaxed);
    mark(page, pages, false);
    return pages;
  }
  NodeWords& node = memory_.node();
  block.store(pages | kFreed, std::memory_order_relaxed);
  node.resting_blocks.fetch_add(1, std::memory_order_relaxed);
  // Of all that rest: the last one to come lets the others wait with it.
  node.rested_at.store(node.step_begun.load(std::memory_order_relaxed) + kBarriers, std::memory_order_relaxed);
  return pages;
}

void PageAllocator::take_back_what_rested() {
  NodeWords& node = memory_.node();
  if (node.resting_blocks.load(std::memory_order_relaxed) == 0) return;
  const std::uint32_t now = node.step_done.load(std::memory_order_acquire);
  if (static_cast<std::int32_t>(now - node.rested_at.load(std::memory_order_relaxed)) < 0) return;
  for (std::size_t page = 0; page < memory_.page_count(); ++page) {
    std::atomic<std::uint32_t>& block = memory_.block_pages(page);
    const std::uint32_t pages = block.load(std::memory_order_relaxed);
    if ((pages & kFreed) == 0) continue;
    block.store(0, std::memory_order_relaxed);
    mark(page, pages & kLength, false);
  }
  node.resting_blocks.store(0, std::memory_order_relaxed);
}

}  // namespace grapnel::dsm
