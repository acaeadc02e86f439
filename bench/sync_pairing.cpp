// SPDX-License-Identifier: Apache-2.0
#include "sync_pairing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "pairs.hpp"

namespace grapnel::bench {
namespace {

bool run_once(TurnJob& job, SyncWork work, SyncOperation operation, double& time_ns) {
  work.operation = operation;
  work.store(job.board());
  return job.run(time_ns);
}

struct Unit {
  const char* name;
  double scale;  ///< of what the jobs answer
};

Unit unit_of(const Pairing& pairing, const Lab* lab) {
  if (pairing.in_node) return {"ns", 1e-3};
  return lab != nullptr ? Unit{"ms", 1e-6} : Unit{"us", 1e-3};
}

Measurement row_of(const SyncRow& row, const Samples& samples, const Unit& unit) {
  const Pair middle = middle_pair(samples.pairs, Compare::ratio);
  const double scale = unit.scale;
  Measurement m{.name = row.name, .unit = unit.name};
  m.value = middle.ours * scale;
  m.limit = middle.limit * scale;
  m.runs = static_cast<int>(samples.pairs.size());
  m.disturbed = middle.limit > kDisturbed * samples.least_limit;
  m.note =
      fmt::format("{:.2f} times faster{}{}", middle.limit / middle.ours, row.remark.empty() ? "" : "; ", row.remark);
  return m;
}

bool measure(TurnJob& limit, TurnJob& ours, const SyncRow& row, int pairs, Samples& samples) {
  SyncWork limit_work = row.work;
  if (row.limit_lock) limit_work.lock = static_cast<std::uint64_t>(*row.limit_lock);
  for (int i = -1; i < pairs; ++i) {
    Pair pair{};
    if (!run_once(limit, limit_work, row.limit, pair.limit)) return false;
    if (!run_once(ours, row.work, row.ours, pair.ours)) return false;
    pair.limit *= row.limit_parts;
    if (i >= 0) samples.add(pair);  // the first is warm-up
  }
  return true;
}

}  // namespace

SyncWork work_of(int targets, int bytes, int gap_us, int operations) {
  SyncWork work;
  work.targets = static_cast<std::uint64_t>(targets);
  work.bytes = static_cast<std::uint64_t>(bytes);
  work.gap_us = static_cast<std::uint64_t>(gap_us);
  work.operations = static_cast<std::uint64_t>(operations);
  return work;
}

SyncWork lock_work_of(LockKind kind, int first, int operations) {
  SyncWork work;
  work.lock = static_cast<std::uint64_t>(kind);
  work.first = static_cast<std::uint64_t>(first);
  work.operations = static_cast<std::uint64_t>(operations);
  return work;
}

bool measure_pairing(const Pairing& pairing, const std::function<bool(const std::string&)>& wants, const Effort& effort,
                     const OnRow& on_row, const Lab* lab) {
  std::vector<SyncRow> rows;
  std::copy_if(pairing.rows.begin(), pairing.rows.end(), std::back_inserter(rows),
               [&](const SyncRow& row) { return wants(row.name); });
  if (rows.empty()) return true;
  TurnJob limit(job_kind(pairing.job), effort, pairing.limit, lab);
  std::unique_ptr<TurnJob> second;
  if (pairing.two_jobs) second = std::make_unique<TurnJob>(job_kind(pairing.job), effort, pairing.ours, lab);
  TurnJob& ours = second ? *second : limit;
  if (!limit.join() || (second && !second->join())) return false;
  bool well = true;
  for (const SyncRow& row : rows) {
    Samples samples;
    well = well && measure(limit, ours, row, std::min(effort.pairs, pairing.most_pairs), samples);
    if (well) on_row(row_of(row, samples, unit_of(pairing, lab)));
  }
  if (second) well &= second->end();
  return limit.end() && well;
}

}  // namespace grapnel::bench
