// The report of the shared heap (GRAPNEL_DSM_REPORT): by page and time between barriers, which nodes fetched it and
// which wrote which lines; and sentences about the pages that cost most. docs/dsm_report.md has the file's format.
//
// Each rank notes what it does in memory of its own, of a fixed size; rank 0 gathers it when the ranks end, and writes.
// Without a report a rank has none of this, and looks at one pointer where it would note something.
//
// Threads: any; `open` and `close` collectively.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "core/core.hpp"
#include "dsm/heap_memory.hpp"
#include "dsm/home_twins.hpp"
#include "dsm/sharing.hpp"
#include "os/descriptor.hpp"

namespace grapnel::dsm {

class Report {
 public:
  static constexpr std::size_t kMostBlocks = 4096;  ///< whose names a rank keeps
  static constexpr std::size_t kMostNameBytes = 64;

  /// Collective: null where rank 0 wants none (GRAPNEL_DSM_REPORT). Its file is made here. Errors, the same in all
  /// ranks: system (it cannot be written), peer_dead.
  static Result<std::shared_ptr<Report>> open(core::Core& core, const HeapMemory& memory);

  void add_fetch(std::span<const std::size_t> pages);
  /// A release sends the diff to the page's home.
  void add_diff(std::size_t page, ByteView diff);
  /// lrc: a release finds that the page differs by this from what was fetched and sent.
  void add_write(std::size_t page, ByteView diff) { uses_.add_write(page, words_of_diff(diff)); }
  /// lrc: the page was fetched as so many records.
  void add_records(std::size_t page, std::size_t count);
  /// At a release, of home pages that may have been written. Errors: no_memory, peer_dead.
  Status add_home_writes(std::span<const std::size_t> pages);
  void add_block(std::uint64_t offset, std::size_t bytes, std::string_view name, const void* return_address);
  /// At a barrier of the heap.
  void end_era() { uses_.end_era(); }

  /// Collective: rank 0 writes the file, and the sentences to stderr. Where a rank has died, of what rank 0 did alone.
  /// Errors: peer_dead.
  Status close(std::uintptr_t base);

 private:
  Report(core::Core& core, const HeapMemory& memory, std::string file, os::Descriptor descriptor);
  RankSharing mine() const;
  void write(const Sharing& sharing) const;

  core::Core& core_;
  HeapMemory memory_;
  HomeTwins twins_;
  const std::string file_;
  os::Descriptor descriptor_;  ///< rank 0's
  PageUses uses_;
  mutable base::Mutex mutex_;
  std::vector<NamedBlock> blocks_ GRAPNEL_GUARDED_BY(mutex_);
  std::uint64_t lost_blocks_ GRAPNEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace grapnel::dsm
