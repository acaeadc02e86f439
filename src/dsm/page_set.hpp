// A set of pages of the heap: a bit each, and a bit for each 64 of them that has one. So a release looks at the pages
// that there are, not at the whole heap. One rank's own; its owner keeps threads apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "os/page_trap.hpp"

namespace grapnel::dsm {

class PageSet {
 public:
  explicit PageSet(std::size_t pages) : words_((pages + 63) / 64), used_((words_.size() + 63) / 64) {}

  bool has(std::size_t page) const { return (words_[page / 64] & bit(page)) != 0; }
  void add(std::size_t page) {
    GRAPNEL_ASSERT(page / 64 < words_.size(), "page {} is added to a set of {} at most", page, words_.size() * 64);
    words_[page / 64] |= bit(page);
    used_[page / 64 / 64] |= bit(page / 64);
  }
  void remove(std::size_t page) {
    words_[page / 64] &= ~bit(page);
    if (words_[page / 64] == 0) used_[page / 64 / 64] &= ~bit(page / 64);
  }
  void clear() {
    for (const std::size_t word : ones_of(used_)) words_[word] = 0;
    used_.assign(used_.size(), 0);
  }

  /// Ascending.
  std::vector<std::size_t> pages() const {
    std::vector<std::size_t> numbers;
    for (const std::size_t word : ones_of(used_)) add_ones(words_[word], word, numbers);
    return numbers;
  }

  /// The runs of its pages, ascending.
  std::vector<os::Pages> runs() const {
    std::vector<os::Pages> found;
    for (const std::size_t place : ones_of(used_)) {
      for (std::uint64_t word = words_[place]; word != 0;) {
        const auto skipped = static_cast<std::size_t>(std::countr_zero(word));
        const auto count = static_cast<std::size_t>(std::countr_one(word >> skipped));
        const std::size_t first = place * 64 + skipped;
        if (!found.empty() && found.back().first + found.back().count == first) {
          found.back().count += count;
        } else {
          found.push_back({first, count});
        }
        word &= skipped + count < 64 ? ~std::uint64_t{0} << (skipped + count) : 0;
      }
    }
    return found;
  }

 private:
  static std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << (number % 64); }
  static void add_ones(std::uint64_t word, std::size_t place, std::vector<std::size_t>& numbers) {
    for (; word != 0; word &= word - 1) {
      numbers.push_back(place * 64 + static_cast<std::size_t>(std::countr_zero(word)));
    }
  }
  static std::vector<std::size_t> ones_of(const std::vector<std::uint64_t>& words) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < words.size(); ++i) add_ones(words[i], i, numbers);
    return numbers;
  }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> used_;  ///< bit i: word i of `words_` is not 0
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
