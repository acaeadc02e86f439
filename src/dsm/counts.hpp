// What one rank of the shared heap counts, and where its time goes.
//
// The clock is read only where a trap or a message is paid anyway.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/count.hpp"
#include "core/service.hpp"
#include "grapnel/heap_options.hpp"
#include "grapnel/lock.hpp"
#include "os/host.hpp"

namespace grapnel::dsm {

struct Counts {
  base::Count faults, write_faults, fetches, fetched_pages, home_questions, notice_questions, mapped_ahead,
      merges_with_writes, scans, scanned_pages, written_pages, diffs, empty_diffs, diff_messages, diff_bytes,
      acknowledgements, intervals, notices_sent, notices_received, unmapped_pages, locks, barriers, moves,
      condition_waits, condition_messages;
  // ns. `fetch` has `merge` in it, `release` has `acknowledgement`.
  base::Count trap, lookup, fetch, merge, map, release, acknowledgement, lock, barrier;

  SharedHeapCounts values(const LockCounts& of_locks) const;
};

/// Adds the time of its scope to a sum.
class Stopwatch {
 public:
  Stopwatch(os::Host& host, base::Count& sum) : host_(host), sum_(sum), begin_(host.now_ns()) {}
  ~Stopwatch() { sum_.add(host_.now_ns() - begin_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  os::Host& host_;
  base::Count& sum_;
  const std::uint64_t begin_;
};

/// Collective: the sum over all ranks, as GRAPNEL_STATS=1 prints it. Errors: those of `gather`.
Result<std::string> table_of_counts(const SharedHeapCounts& mine, const core::Gather& gather);

}  // namespace grapnel::dsm
