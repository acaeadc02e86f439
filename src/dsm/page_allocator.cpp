// SPDX-License-Identifier: Apache-2.0
#include "dsm/page_allocator.hpp"

namespace grapnel::dsm {

// Holds the table for a moment, or does not have it.
class PageAllocator::Turn {
 public:
  explicit Turn(os::Word& word) : word_(word) {
    std::uint32_t free = 0;
    has_ = word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  ~Turn() {
    if (has_) word_.store(0, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool has() const { return has_; }

 private:
  os::Word& word_;
  bool has_ = false;
};

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

std::optional<std::int64_t> PageAllocator::try_allocate(std::size_t pages) {
  const Turn turn(memory_.node().memory_mutex);
  if (!turn.has()) return std::nullopt;
  if (pages == 0 || pages > memory_.page_count()) return kNoRoom;
  const std::int64_t first = find(pages);
  if (first < 0) return first;
  mark(static_cast<std::size_t>(first), pages, true);
  memory_.block_pages(static_cast<std::size_t>(first))
      .store(static_cast<std::uint32_t>(pages), std::memory_order_relaxed);
  return first;
}

std::optional<std::int64_t> PageAllocator::try_free(std::size_t page) {
  const Turn turn(memory_.node().memory_mutex);
  if (!turn.has()) return std::nullopt;
  if (page >= memory_.page_count()) return kNoBlock;
  const std::uint32_t pages = memory_.block_pages(page).exchange(0, std::memory_order_relaxed);
  if (pages == 0) return kNoBlock;
  mark(page, pages, false);
  return pages;
}

}  // namespace grapnel::dsm
