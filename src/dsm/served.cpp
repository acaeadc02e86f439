// Home pages that other nodes have copies of: the first write after a serve makes the copies stale, so a release names
// it. Which page was written is known by the trap, for pages that are watched.
//
// A page that was mapped before it was served is mapped bare, and what it is named for may be an older write: the copy
// is fetched once more then. From that release on the page is watched, and it is named when it was written.
//
// Where the page has been written at the next release each time, or at the one after, watching it brings nothing: it is
// left bare then, and named.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.hpp"
#include "dsm/heap.hpp"
#include "dsm/planted.hpp"

namespace grapnel::dsm {

std::vector<std::size_t> Heap::watch_what_was_served(std::vector<std::size_t>& written) {
  if (planted(Bug::served_not_read)) return {};
  std::vector<std::size_t> served, watched;
  const bool whole = log_.read_served(served_cursor_, [&](std::size_t page) { served.push_back(page); });
  const base::MutexLock lock(mapping_);
  if (!whole) served = mapped_.pages();
  std::sort(served.begin(), served.end());
  served.erase(std::unique(served.begin(), served.end()), served.end());
  for (const std::size_t page : served) {
    const PageWords& words = memory_.words(page);
    const bool here = words.home.load(std::memory_order_relaxed) == my_home();
    if (!here || !mapped_.has(page) || (whole && !words.is_tracked())) continue;
    if (whole && served_.predicts(page)) {
      watched_.remove(page);
      if (!planted(Bug::predicted_not_named)) written.push_back(page);
    } else {
      watched_.add(page);
      watched.push_back(page);
    }
  }
  return watched;
}

// Written soon: at this release or, where it was read between two writes, at the next one.
void Heap::learn_served(const std::vector<std::size_t>& watched, const std::vector<std::size_t>& written) {
  GRAPNEL_ASSERT(std::is_sorted(written.begin(), written.end()), "{} written pages, which do not ascend",
                 written.size());
  const auto is_written = [&](std::size_t page) { return std::binary_search(written.begin(), written.end(), page); };
  for (const std::size_t page : served_not_written_) served_.seen(page, is_written(page));
  served_not_written_.clear();
  for (const std::size_t page : watched) {
    if (is_written(page)) {
      served_.seen(page, true);
    } else {
      served_not_written_.push_back(page);
    }
  }
}

}  // namespace grapnel::dsm
