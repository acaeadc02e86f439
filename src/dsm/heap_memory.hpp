// The memory of the shared heap on one node: the pages, their twins, and the words of both.
//
// Three segments of the node's leader, mapped by all ranks of the node and its server:
//
//   pages    as long as the heap. Home pages and cached pages lie in it; page p has the same offset on every node
//   twins    as long: what this node last got of a cached page, or sent
//   words    NodeWords, the node's clock, its logs, the directory's entries, the queues of conditions, and a PageWords
//            per page
//
// Pages and twins take no memory at first: it is taken by extents of 1 MiB when the node first uses a page there.
//
// Engine, server and transport use these addresses only (the alias); programs use a second mapping of `pages` under a
// trap (os/page_trap.hpp), at one address in all ranks of the job.
//
// Threads: any, of any rank of the node, and the node's server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/core.hpp"
#include "dsm/notices.hpp"
#include "dsm/page_words.hpp"
#include "dsm/sparse_memory.hpp"
#include "os/page_trap.hpp"

namespace grapnel::dsm {

/// The ends of a ring: the entries ever written, and those that are being written, too. `begun` is stored before the
/// first new entry, `end` after the last: a reader that finds `begun` no more than a ring beyond what it has read has
/// read what was written there.
struct LogEnds {
  std::atomic<std::uint64_t> end, begun;

  /// By one thread at a time. Returns where the entries go.
  std::uint64_t begin_writing(std::uint64_t count) {
    const std::uint64_t at = end.load(std::memory_order_relaxed);
    begun.store(at + count, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);  // pairs with the fence in `is_whole`
    return at;
  }
  void end_writing(std::uint64_t at) {
    end.store(at, std::memory_order_release);
    begun.store(at, std::memory_order_relaxed);  // fewer may have come than were announced
  }
  /// After entries from `first` on were read: none of them was written over before they were read.
  bool is_whole(std::uint64_t first, std::uint64_t entries) const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return begun.load(std::memory_order_relaxed) - first <= entries;
  }
};

/// What the ranks of a node share beside the words of pages. All zero at first.
struct NodeWords {
  os::Word mutex;                       ///< of the clock, the notices and the stale log (node_log.hpp)
  os::Word step_begun;                  ///< barriers of the heap whose step a rank of the node has begun
  os::Word step_done;                   ///< … and ended: the node's era
  std::atomic<std::uint32_t> arrivals;  ///< of ranks of the node at barriers of the heap
  // Node 0's: of the table of allocated pages (page_allocator.hpp).
  os::Word memory_mutex;
  std::atomic<std::uint32_t> resting_blocks;  ///< freed, and not to be used again before
  std::atomic<std::uint32_t> rested_at;       ///< `step_done` has come there
  os::Word conditions_mutex;                  ///< of the queues of conditions that this node keeps
  std::atomic<std::uint64_t> serves;          ///< pages that the server was asked for
  LogEnds stale, served, notices;
  // Moves of homes (moves.hpp): home pages that other nodes wrote, and what the node proposes at the next barrier.
  LogEnds diffed;
  std::uint64_t diffed_seen;  ///< entries before it have been looked at
  std::uint32_t proposal_bytes;
  std::byte proposals[kMostMovesBytes];

  /// Whether the node's ranks, so many, have all arrived at the barrier that ends `era`. Before, no node is behind it.
  bool has_arrived(std::uint32_t era, std::size_t ranks) const {
    const std::uint32_t needed = (era + 1) * static_cast<std::uint32_t>(ranks);
    return static_cast<std::int32_t>(arrivals.load(std::memory_order_acquire) - needed) >= 0;
  }
};

/// An interval of this node and a run of pages that it names.
struct NoticeEntry {
  std::atomic<std::uint64_t> interval;
  std::atomic<std::uint64_t> pages;  ///< first << 32 | count
};

/// A condition's queue (condition_queues.hpp), at the node that keeps it.
struct ConditionWords {
  std::atomic<std::uint32_t> last;  ///< 1 + the rank that entered last; 0: no rank waits
  std::atomic<std::uint32_t> lock;  ///< that the waiting ranks have given back
};

class HeapMemory {
 public:
  static constexpr std::size_t kExtentBytes = SparseMemory::kExtentBytes;
  static constexpr std::size_t kPagesPerExtent = kExtentBytes / os::kPageBytes;
  static constexpr std::size_t kLogEntries = 16384;  ///< of each log

  /// Collective: a heap of `bytes`, whole extents, with so many conditions. Errors: no_memory, peer_dead.
  static Result<HeapMemory> allocate(core::Core& core, std::size_t bytes, std::size_t conditions);

  /// Collective: gives it back, before any rank used it. Errors: peer_dead.
  Status free(core::Core& core) const;

  std::size_t page_count() const { return page_count_; }
  std::size_t node_count() const { return node_count_; }
  std::size_t bytes() const { return page_count_ * os::kPageBytes; }

  std::byte* page(std::size_t number) const { return pages_.begin() + number * os::kPageBytes; }
  std::byte* twin(std::size_t number) const { return twins_.begin() + number * os::kPageBytes; }
  PageWords& words(std::size_t number) const { return page_words_[number]; }
  NodeWords& node() const { return *node_; }
  std::atomic<std::uint64_t>& clock(std::size_t node) const { return clock_[node]; }
  std::atomic<std::uint32_t>& stale_entry(std::uint64_t at) const { return stale_[at % kLogEntries]; }
  std::atomic<std::uint32_t>& served_entry(std::uint64_t at) const { return served_[at % kLogEntries]; }
  std::atomic<std::uint32_t>& diffed_entry(std::uint64_t at) const { return diffed_[at % kLogEntries]; }
  NoticeEntry& notice_entry(std::uint64_t at) const { return notices_[at % kLogEntries]; }
  /// 1 + the page's home, in the node that the directory puts it at; 0: no node has it yet.
  std::atomic<std::uint32_t>& directory(std::size_t number) const { return directory_[number]; }
  /// Node 0's: the length in pages of the block that begins there; 0: none does. Beside it a bit per page.
  std::atomic<std::uint32_t>& block_pages(std::size_t number) const { return block_pages_[number]; }
  std::span<std::atomic<std::uint64_t>> allocated() const { return {allocated_, (page_count_ + 63) / 64}; }

  std::size_t condition_count() const { return condition_count_; }
  std::size_t rank_count() const { return rank_count_; }
  /// The node that keeps the condition's queue.
  std::size_t keeper_of_condition(std::size_t number) const { return number % node_count_; }
  /// Of a condition that this node keeps.
  ConditionWords& condition(std::size_t number) const { return conditions_[number / node_count_]; }
  /// Of a rank of the job, in queues of this node: 1 + the rank behind it; 0: it is in none.
  std::atomic<std::uint32_t>& behind(std::size_t rank) const { return behind_[rank]; }
  /// Of a rank of this node: 1 + the condition that it waits for; 0: none.
  os::Word& awaited(std::size_t rank) const { return awaited_[rank]; }

  /// Takes the memory of the page, and of its twin, where that was not done. Waits for another rank that does it.
  /// Errors: no_memory, peer_dead.
  Status use_page(std::size_t number) { return pages_.use(number * os::kPageBytes); }
  Status use_twin(std::size_t number) { return twins_.use(number * os::kPageBytes); }
  /// Whether the page's memory has been taken; else it is zero.
  bool is_used(std::size_t number) const { return pages_.is_used(number * os::kPageBytes); }
  /// The same as `use_page` for the server: false where a rank is at it.
  Result<bool> try_use_page(std::size_t number) { return pages_.try_use(number * os::kPageBytes); }
  Result<bool> try_use_twin(std::size_t number) { return twins_.try_use(number * os::kPageBytes); }

  /// Where the pages lie in the node's file, for the program's mapping.
  std::pair<int, std::uint64_t> place_in_file() const { return segments_->place_in_file(pages_.begin()); }

 private:
  std::size_t extent_count() const { return page_count_ / kPagesPerExtent; }
  std::uintptr_t lay_out(std::uintptr_t words);

  segment::SegmentTable* segments_ = nullptr;
  std::size_t page_count_ = 0, node_count_ = 0, rank_count_ = 0, condition_count_ = 0;
  SparseMemory pages_, twins_;
  std::byte* words_ = nullptr;
  NodeWords* node_ = nullptr;
  std::atomic<std::uint64_t>* clock_ = nullptr;
  std::atomic<std::uint32_t>* stale_ = nullptr;
  std::atomic<std::uint32_t>* served_ = nullptr;
  std::atomic<std::uint32_t>* diffed_ = nullptr;
  NoticeEntry* notices_ = nullptr;
  std::atomic<std::uint32_t>* directory_ = nullptr;
  std::atomic<std::uint32_t>* block_pages_ = nullptr;
  std::atomic<std::uint64_t>* allocated_ = nullptr;
  ConditionWords* conditions_ = nullptr;
  std::atomic<std::uint32_t>* behind_ = nullptr;
  os::Word* awaited_ = nullptr;
  os::Word* extents_ = nullptr;  ///< of the pages, then of the twins
  PageWords* page_words_ = nullptr;
};

}  // namespace grapnel::dsm
