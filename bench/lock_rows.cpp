// SPDX-License-Identifier: Apache-2.0
#include "lock_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lock_plan.hpp"
#include "pairs.hpp"
#include "statistics.hpp"

namespace grapnel::bench {
namespace {

using Samples = std::map<std::string, std::vector<double>>;  // by row, one per round

bool wants(const std::string& filter, const std::string& name) { return name.find(filter) != std::string::npos; }

bool wants(const std::string& filter, const LockItem& item) {
  return std::any_of(item.rows.begin(), item.rows.end(), [&](const LockRow& row) { return wants(filter, row.name); });
}

double value_of(const LockRow& row, const double* numbers) {
  const double over = row.over < 0 ? 1 : numbers[row.over];
  return numbers[row.number] * row.scale / over;
}

// A quarter of the time: what is shown needs the spread of the rounds, not more of each.
std::uint64_t window_of(const LockWork& work, const Effort& effort) {
  return effort.quick ? work.window_us / 4 : work.window_us;
}

bool run_once(TurnJob& job, const LockItem& item, const Effort& effort, const std::string& filter, Samples* samples) {
  LockWork work = item.work;
  work.window_us = window_of(work, effort);
  work.store(job.board());
  double time_ns = 0;
  if (!job.run(time_ns)) return false;
  const double* const numbers = job.board().page().number;
  for (const LockRow& row : item.rows) {
    const bool seen = work.operation != LockOperation::delay || numbers[kDelay] > 0;
    if (samples != nullptr && seen && wants(filter, row.name)) (*samples)[row.name].push_back(value_of(row, numbers));
  }
  return true;
}

void show(const LockRow& row, const Samples& samples, int rounds, const OnRow& on_row) {
  const auto found = samples.find(row.name);
  if (found == samples.end()) return;
  const std::vector<double>& values = found->second;
  Measurement m{.name = row.name, .unit = row.unit, .better = row.better, .value = median(values)};
  if (const auto limit = samples.find(row.baseline); limit != samples.end()) m.limit = median(limit->second);
  m.runs = static_cast<int>(values.size());
  m.low = percentile(values, 0.25);
  m.high = percentile(values, 0.75);
  if (m.runs < rounds) m.note = fmt::format("cut: {} of {} rounds", m.runs, rounds);
  on_row(m);
}

bool collect(const LockPart& part, const std::string& filter, const Effort& effort, const OnRow& on_row) {
  std::vector<LockItem> items;
  std::copy_if(part.items.begin(), part.items.end(), std::back_inserter(items),
               [&](const LockItem& item) { return wants(filter, item); });
  if (items.empty()) return true;
  std::vector<std::string> settings;
  if (!part.mode.empty()) settings.push_back("GRAPNEL_PROGRESS=" + part.mode);
  TurnJob job(job_kind(part.job), effort, settings);
  if (!job.join()) return false;
  Samples samples;
  const std::uint64_t end_ns = now_ns() + static_cast<std::uint64_t>(part.most_s * 1e9);
  // The first round is warm-up, and needs no repetition where that would take its time from the others.
  for (int round = effort.quick ? 0 : -1; round < effort.pairs && (round < 1 || now_ns() < end_ns); ++round) {
    for (const LockItem& item : items) {
      if (!run_once(job, item, effort, filter, round < 0 ? nullptr : &samples)) return false;
    }
  }
  for (const LockItem& item : items) {
    for (const LockRow& row : item.rows) show(row, samples, effort.pairs, on_row);
  }
  return job.end();
}

}  // namespace

std::vector<std::string> lock_rows(const std::string& filter) {
  std::vector<std::string> names;
  for (const LockPart& part : lock_plan()) {
    for (const LockItem& item : part.items) {
      for (const LockRow& row : item.rows) {
        if (wants(filter, row.name)) names.push_back(row.name);
      }
    }
  }
  for (const std::string& name : lock_sim_rows()) {
    if (wants(filter, name)) names.push_back(name);
  }
  return names;
}

bool collect_locks(const std::string& filter, const Effort& effort, const OnRow& on_row) {
  bool all_well = true;
  for (const LockPart& part : lock_plan()) all_well &= collect(part, filter, effort, on_row);
  for (const std::string& name : lock_sim_rows()) {
    if (!wants(filter, name)) continue;
    Job job({beside("grapnel-bench-sim"), name, "3"});
    all_well &= read_rows(job, on_row);
  }
  return all_well;
}

}  // namespace grapnel::bench
