// What lrc keeps of each page in memory of the node: records of what this node wrote, and what it knows and has of the
// others' records.
//
//   record := what page and twin differed in at one moment: a diff. It covers this node's intervals first … last
//             that name the page. `time` puts the records of a page in order: one that was made by a node that had
//             another one merged has the later time
//   seen    by node: its last interval, of those applied here, that names the page
//   got     by node: the copy has its records up to this interval. The page is stale where some seen > got
//
// Page, twin and records of a page change under its `copy`, which is held for work in memory only: a rank waits for it,
// the server answers *retry*. (Under `busy` two nodes that fetch a page from each other would wait for ever.)
//
// A record is made where an own interval that names the page is in no record yet, and
//   a  another node asks for it, or
//   b  before a notice of another node is applied to the page
// and never else. So it has nothing that was written by a rank that knew a later notice for the page than its intervals
// did (invariant 14 of docs/dsm.md).
//
// Records lie in one half of their memory; a collection (lrc_collect.cpp) moves on to the other half and then drops
// what lies in the first.
//
// Threads: any, of any rank of the node, and the node's server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>

#include "dsm/heap_memory.hpp"
#include "dsm/messages.hpp"
#include "dsm/page_lock.hpp"
#include "dsm/sparse_memory.hpp"

namespace grapnel::dsm {

struct PageHistory {
  PageLock copy;
  std::atomic<std::uint32_t> collect;  ///< bits: kSentToKeeper, kKept
  // Own intervals that name the page: the first one in no record yet (0: none), and the last.
  std::atomic<std::uint64_t> first, last;
  // Own records: the last interval of the newest ever made, of the newest that was dropped; and where the newest lies
  // (0: none).
  std::atomic<std::uint64_t> made, dropped, newest;
  std::atomic<std::uint64_t> time;  ///< of the newest record made here, or merged
};

/// What the ranks of a node share beside it. All zero at first.
struct RecordWords {
  std::atomic<std::uint64_t> used;  ///< bytes of the half in use; the highest bit: it is the second
  os::Word turn_begun, turn_done;   ///< steps of collections that a rank of the node has begun, and ended
};

/// Three segments' worth of it: words, and the records' own memory, which is taken by extents.
class RecordMemory {
 public:
  /// Collective: for the heap's pages; `limit`: bytes of records, in each half. Errors: no_memory, peer_dead.
  static Result<RecordMemory> allocate(core::Core& core, const HeapMemory& heap, std::size_t limit);
  /// Collective: gives it back. Errors: peer_dead.
  Status free(core::Core& core) const;

  std::size_t limit() const { return limit_; }
  PageHistory& history(std::size_t page) const { return histories_[page]; }
  RecordWords& words() const { return *words_; }
  std::atomic<std::uint64_t>& seen(std::size_t page, std::size_t node) const { return seen_[page * nodes_ + node]; }
  std::atomic<std::uint64_t>& got(std::size_t page, std::size_t node) const { return got_[page * nodes_ + node]; }
  SparseMemory& records() { return records_; }

 private:
  std::uintptr_t lay_out(std::uintptr_t begin, std::size_t pages);

  std::size_t limit_ = 0, nodes_ = 0, extents_count_ = 0;
  std::byte* begin_ = nullptr;
  RecordWords* words_ = nullptr;
  PageHistory* histories_ = nullptr;
  std::atomic<std::uint64_t>*seen_ = nullptr, *got_ = nullptr;
  os::Word* extents_ = nullptr;
  SparseMemory records_;
};

class Records {
 public:
  Records(core::Core& core, const HeapMemory& heap, const RecordMemory& memory)
      : core_(core), heap_(heap), memory_(memory) {}

  static constexpr std::uint32_t kSentToKeeper = 1;  ///< its keeper knows that there are records here
  static constexpr std::uint32_t kKept = 2;          ///< a node has records of it, and this node keeps it

  RecordMemory& memory() { return memory_; }
  PageHistory& history(std::size_t page) const { return memory_.history(page); }

  /// Under `copy`: makes a record of what is in none yet. False: the memory for it is being taken by another rank
  /// (`waits`: never); nothing was done then. Errors: no_memory, with the figures; peer_dead.
  Result<bool> make(std::size_t page, bool waits);

  /// Under `copy`: appends the records of intervals after `since` that begin by `until`, newest first, up to `most`
  /// bytes in all. Returns 0, or the `until` to go on with.
  std::uint64_t append(std::size_t page, std::uint64_t since, std::uint64_t until, Bytes& out, std::size_t most) const;

  std::size_t limit() const { return memory_.limit(); }
  /// Bytes of records in the half that is in use.
  std::size_t used() const { return memory_.words().used.load(std::memory_order_relaxed) & ~kSecondHalf; }
  /// From now on records lie in the other half.
  void change_halves();
  /// Under `copy`: the page has no records any more.
  void drop(std::size_t page);

 private:
  static constexpr std::uint64_t kSecondHalf = std::uint64_t{1} << 63;
  struct Entry {
    std::uint64_t older = 0;  ///< where the next older record of the page lies; 0: none
    RecordHeader header;
  };
  /// The place of `bytes` in the records' memory; nothing where `make` returns false.
  Result<std::optional<std::uint64_t>> place(std::size_t bytes, bool waits);
  std::byte* at(std::uint64_t place) const { return records_begin_ + place - 1; }

  core::Core& core_;
  HeapMemory heap_;
  RecordMemory memory_;
  std::byte* const records_begin_ = memory_.records().begin();
};

}  // namespace grapnel::dsm
