// Two jobs of the same ranks, or one, that measure a limit and ours in turn: how the rows of `sync` come about.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grapnel/lock.hpp"
#include "lab.hpp"
#include "scenarios/sync_work.hpp"
#include "turns.hpp"

namespace grapnel::bench {

struct SyncRow {
  std::string name;
  SyncOperation limit{}, ours{};
  SyncWork work;                            ///< but for the operation
  double limit_parts = 1;                   ///< what one row's limit is, in units of what the limit's job answers
  std::string remark = {};                  ///< behind the note
  std::optional<LockKind> limit_lock = {};  ///< where it is not ours
};

struct Pairing {
  std::string job;
  std::vector<std::string> limit, ours;  ///< settings
  bool two_jobs = true;                  ///< else one job, of the settings of the limit, does both
  std::vector<SyncRow> rows;
  int most_pairs = INT_MAX;  ///< of a row
  bool in_node = false;      ///< the jobs answer in ps
};

/// `targets` that each rank writes `bytes` to, `gap_us` before the operation.
SyncWork work_of(int targets, int bytes, int gap_us, int operations);
/// A lock of that kind at rank 0, wanted by the ranks from `first` on.
SyncWork lock_work_of(LockKind kind, int first, int operations);

/// Measures the rows that `wants` takes; on `lab`, or on virtual nodes. False when a job failed.
bool measure_pairing(const Pairing& pairing, const std::function<bool(const std::string&)>& wants, const Effort& effort,
                     const OnRow& on_row, const Lab* lab = nullptr);

}  // namespace grapnel::bench
