// A table of groups in node memory: an entry for each group that ranks of the node use at the time.
//
// The first rank of the node that attaches makes the entry, the last one that releases it frees it. `Entry` is plain
// memory that is zero at first, with `std::uint64_t key` and `std::uint32_t references`, both under the table's lock.
//
// Threads: any, of any rank of the node.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "launch/node_mutex.hpp"
#include "os/host.hpp"

namespace grapnel::launch {

/// Of node memory.
struct GroupEntriesWords {
  os::Word lock;
  os::Word used;  ///< the highest number ever taken, plus one
};

template <typename Entry>
class GroupEntries {
 public:
  /// `what` the groups have here, for an error: "barriers".
  GroupEntries(Launch& launch, os::Host& host, GroupEntriesWords& words, std::span<Entry> entries, const char* what)
      : words_(words), entries_(entries), what_(what), mutex_(launch, host, words.lock) {}

  /// The number of the group's entry, taken once by each rank of this node that uses it. `on_new(number)` runs for the
  /// first of them, before any other gets the entry; what it answers ends the call. Errors: those of `on_new`;
  /// unavailable when all entries are taken; peer_dead.
  template <typename OnNew>
  Result<std::uint32_t> attach(std::uint64_t key, OnNew on_new) {
    const auto guard = mutex_.lock();
    if (!guard) return guard.status();
    const std::uint32_t number = find(key);
    if (number >= entries_.size()) {
      return Status(Code::unavailable, fmt::format("{} groups have {} on this node already; free some of them first",
                                                   entries_.size(), what_));
    }
    Entry& entry = entries_[number];
    if (entry.references == 0) {
      entry.key = key;
      GRAPNEL_TRY(on_new(number));
    }
    ++entry.references;
    // relaxed: ordered by the lock.
    words_.used.store(std::max(words_.used.load(std::memory_order_relaxed), number + 1), std::memory_order_relaxed);
    return number;
  }

  /// `on_last()` runs for the last rank of the node that held it, before the entry is free. Its answer is returned.
  template <typename OnLast>
  Status release(std::uint32_t number, OnLast on_last) {
    const auto guard = mutex_.lock();
    if (!guard) return guard.status();
    Status outcome;
    if (entries_[number].references == 1) outcome = on_last();
    --entries_[number].references;
    return outcome;
  }

  Entry& operator[](std::uint32_t number) { return entries_[number]; }

  /// The table's lock, for what else it guards. Errors: peer_dead.
  Result<NodeMutex::Guard> lock() { return mutex_.lock(); }

 private:
  /// The group's entry, or the first free one. The table's lock is held.
  std::uint32_t find(std::uint64_t key) const {
    const std::uint32_t used = words_.used.load(std::memory_order_relaxed);  // ordered by the lock
    std::uint32_t free = used;
    for (std::uint32_t i = 0; i < used; ++i) {
      if (entries_[i].references == 0) {
        free = std::min(free, i);
      } else if (entries_[i].key == key) {
        return i;
      }
    }
    return free;
  }

  GroupEntriesWords& words_;
  std::span<Entry> entries_;
  const char* const what_;
  NodeMutex mutex_;
};

}  // namespace grapnel::launch
