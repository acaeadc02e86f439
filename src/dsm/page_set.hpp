// A set of pages of the heap: a bit each. One rank's own; its owner keeps threads apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "os/page_trap.hpp"

namespace grapnel::dsm {

class PageSet {
 public:
  explicit PageSet(std::size_t pages) : words_((pages + 63) / 64) {}

  bool has(std::size_t page) const { return (words_[page / 64] >> (page % 64) & 1) != 0; }
  void add(std::size_t page) { words_[page / 64] |= std::uint64_t{1} << (page % 64); }
  void remove(std::size_t page) { words_[page / 64] &= ~(std::uint64_t{1} << (page % 64)); }
  void clear() { words_.assign(words_.size(), 0); }

  /// Ascending.
  std::vector<std::size_t> pages() const {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
        numbers.push_back(i * 64 + static_cast<std::size_t>(std::countr_zero(word)));
      }
    }
    return numbers;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// The runs of pages that ascend.
inline std::vector<os::Pages> runs_of(const std::vector<std::size_t>& ascending) {
  std::vector<os::Pages> runs;
  for (const std::size_t page : ascending) {
    if (!runs.empty() && runs.back().first + runs.back().count == page) {
      ++runs.back().count;
    } else {
      runs.push_back({page, 1});
    }
  }
  return runs;
}

}  // namespace grapnel::dsm
