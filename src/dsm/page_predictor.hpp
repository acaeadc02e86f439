// Whether a page does what it did each time before, so that the rank need not look.
//
// A look costs more than it is about: a fault, a signal, calls that protect and map. Loops between barriers do the same
// thing again and again, so a page that did it kTimes times in a row is predicted to do it. Every so often it is looked
// at all the same, and then twice: what happened while nothing was looked at is not known, so the first look decides
// nothing. One rank's own; its owner keeps threads apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace grapnel::dsm {

class PagePredictor {
 public:
  static constexpr std::uint32_t kTimes = 4;
  /// Between two looks. A prediction that is wrong costs a fetch, ten of the faults that it would have saved.
  static constexpr std::uint32_t kPredicted = 8;

  /// True: it will, and this is counted; the caller does not look.
  bool predicts(std::size_t page) {
    const auto found = pages_.find(page);
    if (found == pages_.end() || found->second.left == 0) return false;
    --found->second.left;
    found->second.decides = false;
    return true;
  }

  /// What a look showed.
  void seen(std::size_t page, bool did) {
    if (!did) {
      pages_.erase(page);
      return;
    }
    State& state = pages_[page];
    if (!std::exchange(state.decides, true)) return;
    state.times = std::min(state.times + 1, kTimes);
    if (state.times == kTimes) state.left = kPredicted;
  }

 private:
  struct State {
    std::uint32_t times = 0;  ///< in a row that it did
    std::uint32_t left = 0;   ///< predictions until the next look
    bool decides = true;      ///< the next look
  };
  std::unordered_map<std::size_t, State> pages_;
};

}  // namespace grapnel::dsm
