// Which cached pages this rank used together: between two acquires that made some of them stale, in the order of their
// misses. A loop misses the same ones again, so one wait may bring them all.
//
// The last kRemembered intervals are remembered, because a loop may use its pages in turn: two grids, two colours. A
// page counts for the last interval in which it was used. One rank's own; its owner keeps threads apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/check.hpp"

namespace grapnel::dsm {

class UsedTogether {
 public:
  static constexpr std::size_t kRemembered = 8;

  /// Some pages are stale from now on: an interval ends, where anything was used in it.
  void begin_interval() {
    if (pages_of(interval_).empty()) return;
    ++interval_;
    for (const std::size_t page : pages_of(interval_)) {
      const auto found = places_.find(page);
      if (found != places_.end() && found->second.interval + kRemembered == interval_) places_.erase(found);
    }
    pages_of(interval_).clear();
  }

  void add(std::size_t page) {
    auto& now = pages_of(interval_);
    Place& place = places_[page];
    if (place.interval == interval_ && place.at < now.size() && now[place.at] == page) return;
    place = {interval_, now.size()};
    now.push_back(page);
  }

  /// Calls `visit` for the pages of the last interval in which this one was used, first those that came after it, then
  /// those before it, until it answers false.
  template <typename Visit>
  void for_each_with(std::size_t page, Visit visit) const {
    const auto found = places_.find(page);
    if (found == places_.end()) return;
    const auto& pages = intervals_[found->second.interval % kRemembered];
    GRAPNEL_ASSERT(found->second.at < pages.size() && pages[found->second.at] == page, "page {} is not at {} of {}",
                   page, found->second.at, pages.size());
    for (std::size_t step = 1; step < pages.size(); ++step) {
      if (!visit(pages[(found->second.at + step) % pages.size()])) return;
    }
  }

 private:
  struct Place {
    std::uint64_t interval = 0;
    std::size_t at = 0;  ///< in its pages
  };
  std::vector<std::size_t>& pages_of(std::uint64_t interval) { return intervals_[interval % kRemembered]; }

  std::uint64_t interval_ = 0;
  std::array<std::vector<std::size_t>, kRemembered> intervals_;
  std::unordered_map<std::size_t, Place> places_;
};

}  // namespace grapnel::dsm
