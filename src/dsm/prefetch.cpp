// Fetches and maps a range of pages that the program is about to use.
//
// Pages that another rank of the node fetches or flushes at this moment are left to a later access: a rank that holds
// pages waits for none.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "dsm/heap.hpp"
#include "dsm/taken.hpp"

namespace grapnel::dsm {
namespace {

/// Pages that are taken at a time; 16 messages of them are under way at once.
constexpr std::size_t kMostTaken = 16 * kMostFetched;

}  // namespace

Status Heap::prefetch(const void* address, std::size_t bytes) {
  GRAPNEL_ASSIGN_OR_RETURN(const os::Pages pages, pages_in("prefetch", address, bytes));
  if (one_node()) return {};
  if (settings_.protocol == ProtocolChoice::lrc) return touch(address, bytes, false);  // records, page by page
  std::size_t count = 0;
  for (std::size_t first = pages.first; first < pages.first + pages.count; first += count) {
    count = std::min(kMostTaken, pages.first + pages.count - first);
    GRAPNEL_TRY(prefetch_some({first, count}));
    GRAPNEL_TRY(map_valid({first, count}));
  }
  return {};
}

Status Heap::prefetch_some(os::Pages pages) {
  const std::uint32_t now = era();
  Taken taken(*this);
  std::vector<std::size_t> wanted;
  for (std::size_t page = pages.first; page < pages.first + pages.count; ++page) {
    if (memory_.words(page).home.load(std::memory_order_acquire) == 0) GRAPNEL_TRY(find_home(page));
  }
  for (std::size_t page = pages.first; page < pages.first + pages.count; ++page) {
    const PageWords& words = memory_.words(page);
    if (words.is_valid() || !taken.try_add(page)) continue;
    const std::uint32_t home = words.home.load(std::memory_order_acquire);
    if (home != 0 && home != my_home() && !words.is_valid()) wanted.push_back(page);
  }
  // Where a home has moved, an access looks again.
  return fetch_all(by_home(wanted), now, FetchReason::miss).status();
}

Status Heap::map_valid(os::Pages pages) {
  std::vector<std::size_t> at_home, valid;
  {
    const base::MutexLock lock(mapping_);
    for (std::size_t page = pages.first; page < pages.first + pages.count; ++page) {
      const PageWords& words = memory_.words(page);
      if (mapped_.has(page)) continue;
      if (words.home.load(std::memory_order_acquire) == my_home()) {
        at_home.push_back(page);
      } else if (words.is_valid()) {
        valid.push_back(page);
        mapped_.add(page);
        watched_.add(page);
        used_.add(page);
        used_together_.add(page);
      }
    }
    counts_.mapped_ahead.add(valid.size());
    for (const os::Pages& run : runs_of(valid)) GRAPNEL_TRY(trap_->map(run, true));
  }
  for (const std::size_t page : at_home) GRAPNEL_TRY(map_home_page(page, false).status());
  return {};
}

}  // namespace grapnel::dsm
