// Homeless lazy release consistency, as TreadMarks has it: a release sends nothing, and a miss asks all writers.
//
//   lrc.cpp           a miss: records from every node whose intervals name the page, merged in their order
//   lrc_collect.cpp   a collection of records, in a barrier
//   records.hpp       records, and what a node has of them
//
// Every page is cached where it is used, with a twin, and is zero at first. No page has a home.
//
// Why a page has what this node's clock allows, whatever order records come in: the clock is closed (node_log.hpp), and
// a writer gives no record that begins after what it is asked for. So a node that merges a record knows every interval
// that the record's bytes are later than. It merges those intervals' records before, or with it and in the order of
// their times.
//
// Threads: as protocol.hpp.
// Source: P. Keleher, A. L. Cox, W. Zwaenepoel, "Lazy release consistency for software distributed shared memory",
// ISCA 1992; treadmarks-on-gm, section 2.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "dsm/protocol.hpp"
#include "dsm/records.hpp"

namespace grapnel::dsm {

class Lrc final : public Protocol {
 public:
  Lrc(Heap& heap, const RecordMemory& memory)
      : heap_(heap),
        core_(heap.core_),
        memory_(heap.memory_),
        counts_(heap.counts_),
        records_(heap.core_, heap.memory_, memory) {}

  Status make_valid(std::size_t page) override;
  Status publish(const std::vector<std::size_t>& pages, Heap::Taken&) override;
  /// What equals the twin is in a record of an interval that is older than the next one of this node.
  bool is_publishing(std::size_t) const override { return false; }
  /// It is of the last record.
  bool twin_is_of_last_release() const override { return false; }
  Status name(const std::vector<std::size_t>& pages, std::uint64_t interval) override;
  Result<bool> take_notice(std::size_t page, std::size_t node, std::uint64_t interval) override;
  bool takes_more_than_told() const override { return false; }
  bool wants_cleaning() const override { return records_.used() > records_.limit() / 2; }
  Status clean_up() override;

 private:
  /// A page's `copy`, held.
  class Held {
   public:
    static Result<Held> take(Lrc& lrc, std::size_t page);
    Held(Held&& other) noexcept : lrc_(std::exchange(other.lrc_, nullptr)), page_(other.page_) {}
    Held& operator=(Held&&) = delete;
    ~Held();

   private:
    Held(Lrc& lrc, std::size_t page) : lrc_(&lrc), page_(page) {}
    Lrc* lrc_;
    std::size_t page_;
  };

  // lrc.cpp
  struct Question;
  struct Fetch;
  struct Whole;
  struct Missing;
  Status fetch(const std::vector<std::size_t>& pages);
  Status find_missing(Fetch& fetch, const std::vector<std::size_t>& pages);
  Status ask_writers(Fetch& fetch);
  Status merge_records(const Fetch& fetch, const Missing& missing);
  Status fetch_whole(std::size_t page);
  Status report_write(std::size_t page);

  // lrc_collect.cpp
  Status take_turn(Status (Lrc::*step)());
  Status name_to_keepers();
  Status complete_what_is_kept();
  Status drop_records();
  struct KeepRequests;
  Status send_to_keepers(const std::vector<std::vector<std::size_t>>& by_keeper);

  Heap& heap_;
  core::Core& core_;
  HeapMemory& memory_;
  Counts& counts_;
  Records records_;
  std::uint32_t turns_ = 0;  ///< of collections that this rank took part in
};

}  // namespace grapnel::dsm
