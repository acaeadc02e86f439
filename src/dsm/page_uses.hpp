// What one rank did to pages, for the report of the shared heap: which ones it fetched, and which words of them it
// wrote, by page and slice of the run. A slice is 2^n eras; an era is the time between two barriers of the heap.
//
// The memory is taken at once: nothing is allocated where a page is noted, which a handler of faults may do. Where a
// barrier finds the table more than half full, slices become twice as long until it is not. A use that finds no room
// is counted as lost.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/mutex.hpp"
#include "grapnel/types.hpp"
#include "os/page_trap.hpp"

namespace grapnel::dsm {

/// Words of 4 bytes of a page: a bit each. Two nodes that write different words of a line share it falsely, too.
class WordSet {
 public:
  static constexpr std::size_t kWordBytes = 4;
  static constexpr std::size_t kWords = os::kPageBytes / kWordBytes;

  void add(std::size_t word) { bits_[word / 64] |= std::uint64_t{1} << (word % 64); }
  bool has(std::size_t word) const { return (bits_[word / 64] >> (word % 64) & 1) != 0; }
  bool empty() const { return *this == WordSet(); }
  bool meets(const WordSet& other) const {
    std::uint64_t common = 0;
    for (std::size_t i = 0; i < bits_.size(); ++i) common |= bits_[i] & other.bits_[i];
    return common != 0;
  }
  WordSet& operator|=(const WordSet& other) {
    for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
    return *this;
  }
  WordSet& operator&=(const WordSet& other) {
    for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] &= other.bits_[i];
    return *this;
  }
  bool operator==(const WordSet&) const = default;

 private:
  std::array<std::uint64_t, kWords / 64> bits_{};
};

/// The words that a diff changes (diff.hpp).
WordSet words_of_diff(ByteView diff);

struct PageUse {
  std::uint32_t page = 0, slice = 0;
  std::uint32_t fetches = 0;
  std::uint32_t writes = 0;  ///< releases that found it changed
  std::uint32_t diffs = 0;   ///< sent to its home; with lrc: records that were fetched
  WordSet words;             ///< that they found
};

class PageUses {
 public:
  static constexpr std::size_t kMostUses = 16'384;

  PageUses() : PageUses(kMostUses) {}
  /// `most` is a power of two: the uses that it holds.
  explicit PageUses(std::size_t most);

  void add_fetch(std::size_t page);
  void add_write(std::size_t page, const WordSet& words);
  void add_diffs(std::size_t page, std::size_t count);
  /// At a barrier.
  void end_era();

  /// What was noted. Slices are 2^shift eras.
  struct Noted {
    std::uint32_t eras = 0, shift = 0;
    std::uint64_t lost = 0;
    std::vector<PageUse> uses;
  };
  Noted noted() const;

 private:
  PageUse* find(std::size_t page) GRAPNEL_REQUIRES(mutex_);
  PageUse* find(std::uint32_t page, std::uint32_t slice) GRAPNEL_REQUIRES(mutex_);
  void lengthen_slices() GRAPNEL_REQUIRES(mutex_);

  const std::size_t most_;
  mutable base::Mutex mutex_;
  std::uint32_t era_ GRAPNEL_GUARDED_BY(mutex_) = 0, shift_ GRAPNEL_GUARDED_BY(mutex_) = 0;
  std::uint64_t lost_ GRAPNEL_GUARDED_BY(mutex_) = 0;
  std::vector<PageUse> uses_ GRAPNEL_GUARDED_BY(mutex_);          ///< as long as `most_` allows from the start
  std::vector<std::uint32_t> places_ GRAPNEL_GUARDED_BY(mutex_);  ///< a hash table: 1 + index of `uses_`, or 0
};

}  // namespace grapnel::dsm
