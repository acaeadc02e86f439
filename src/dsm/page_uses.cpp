// SPDX-License-Identifier: Apache-2.0
#include "dsm/page_uses.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "dsm/diff.hpp"

namespace grapnel::dsm {

WordSet words_of_diff(ByteView diff) {
  WordSet words;
  std::uint64_t lines = 0;
  std::memcpy(&lines, diff.data(), sizeof lines);
  for (std::size_t next = sizeof lines; lines != 0; lines &= lines - 1, next += sizeof lines) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, diff.data() + next, sizeof bytes);
    const std::size_t first = static_cast<std::size_t>(std::countr_zero(lines)) * kLineBytes;
    for (; bytes != 0; bytes &= bytes - 1) {
      words.add((first + static_cast<std::size_t>(std::countr_zero(bytes))) / WordSet::kWordBytes);
    }
  }
  return words;
}

PageUses::PageUses(std::size_t most) : most_(most) {
  GRAPNEL_ASSERT(std::has_single_bit(most), "room for {} uses is no power of two", most);
  uses_.reserve(most_);
  places_.resize(2 * most_);
}

PageUse* PageUses::find(std::size_t page) {
  PageUse* const use = find(static_cast<std::uint32_t>(page), era_ >> shift_);
  if (use == nullptr) ++lost_;
  return use;
}

PageUse* PageUses::find(std::uint32_t page, std::uint32_t slice) {
  const std::uint64_t key = static_cast<std::uint64_t>(slice) << 32 | page;
  // Half of the places are free, so the walk ends.
  for (std::size_t at = key * 0x9e3779b97f4a7c15 >> 32;; ++at) {
    std::uint32_t& place = places_[at % places_.size()];
    if (place == 0) {
      if (uses_.size() == most_) return nullptr;
      uses_.push_back({page, slice, 0, 0, 0, {}});
      place = static_cast<std::uint32_t>(uses_.size());
    }
    PageUse& use = uses_[place - 1];
    if (use.page == page && use.slice == slice) return &use;
  }
}

void PageUses::add_fetch(std::size_t page) {
  const base::MutexLock lock(mutex_);
  if (PageUse* const use = find(page)) ++use->fetches;
}

void PageUses::add_write(std::size_t page, const WordSet& words) {
  const base::MutexLock lock(mutex_);
  PageUse* const use = find(page);
  if (use == nullptr) return;
  ++use->writes;
  use->words |= words;
}

void PageUses::add_diffs(std::size_t page, std::size_t count) {
  const base::MutexLock lock(mutex_);
  if (PageUse* const use = find(page)) use->diffs += static_cast<std::uint32_t>(count);
}

void PageUses::end_era() {
  const base::MutexLock lock(mutex_);
  ++era_;
  while (uses_.size() > most_ / 2 && era_ >> shift_ != 0) lengthen_slices();
}

void PageUses::lengthen_slices() {
  ++shift_;
  std::vector<PageUse> before;
  before.reserve(most_);
  std::swap(before, uses_);
  std::fill(places_.begin(), places_.end(), 0);
  for (const PageUse& one : before) {
    PageUse* const found = find(one.page, one.slice / 2);
    GRAPNEL_ASSERT(found != nullptr, "{} uses become more when slices become longer", before.size());
    PageUse& use = *found;
    use.fetches += one.fetches;
    use.writes += one.writes;
    use.diffs += one.diffs;
    use.words |= one.words;
  }
}

PageUses::Noted PageUses::noted() const {
  const base::MutexLock lock(mutex_);
  return {era_, shift_, lost_, uses_};
}

}  // namespace grapnel::dsm
