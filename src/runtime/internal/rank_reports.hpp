// What a rank answers of itself, and the reports that it prints by itself: of a wait that is longer than
// GRAPNEL_WATCHDOG_S, after GRAPNEL_STATUS_SIGNAL, and with GRAPNEL_BACKTRACE=1 of a crash.
//
// Threads: `phase`, construction and destruction: the rank's; the rest runs in the watcher thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "grapnel/runtime.hpp"
#include "runtime/job_status.hpp"
#include "runtime/settings.hpp"

namespace grapnel::runtime {

class RankReports {
 public:
  /// From now on, until the destruction. The runtime outlives this.
  explicit RankReports(const Runtime::Implementation& runtime);
  ~RankReports();
  RankReports(const RankReports&) = delete;
  RankReports& operator=(const RankReports&) = delete;

  /// Between its layers' start and end a rank is asked for their facts; else for the call that starts or ends it.
  void layers_run() { call_.store(nullptr); }
  void ends();

 private:
  RankStatus status() const;
  void add_wait(RankStatus& mine) const;
  void add_layers(RankStatus& mine) const;
  void use_hooks();
  int look_for_a_long_wait();
  void report(bool cover);

  const Runtime::Implementation& runtime_;
  const Settings settings_;
  std::atomic<const char*> call_{"start"};
  std::atomic<std::uint64_t> call_since_ns_;
  // The watcher's:
  std::uint64_t covered_until_ns_ = 0;  ///< waits that had begun by then were reported
  std::uint64_t report_at_ns_ = 0;      ///< a long wait was found; 0: none
  bool lower_rank_reports_ = false;     ///< as this rank does
};

}  // namespace grapnel::runtime
