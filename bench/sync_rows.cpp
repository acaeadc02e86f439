#include "sync_rows.hpp"

#include <fmt/format.h>

#include "pairs.hpp"
#include "scenarios/sync_work.hpp"

namespace grapnel::bench {
namespace {

using Settings = std::vector<std::string>;

// The papers' algorithms, the limit of every row between nodes. One window of the fence is the serial one, too.
const Settings kBaseline = {"GRAPNEL_FENCE=serial", "GRAPNEL_BARRIER=serial"};

struct SyncRow {
  std::string name;
  SyncOperation limit{}, ours{};
  SyncWork work;           ///< but for the operation
  double limit_parts = 1;  ///< of the limit's way around the ranks make one row's limit
};

/// Two jobs, or one that does both, and what they measure in turn.
struct Pairing {
  std::string job;
  Settings limit, ours;
  bool two_jobs = true;
  std::vector<SyncRow> rows;
};

SyncWork work_of(int targets, int bytes, int gap_us, int operations) {
  return {{},
          static_cast<std::uint64_t>(targets),
          static_cast<std::uint64_t>(bytes),
          static_cast<std::uint64_t>(gap_us),
          static_cast<std::uint64_t>(operations),
          0};
}

SyncRow row(std::string name, SyncOperation operation, const SyncWork& work) {
  return {std::move(name), operation, operation, work};
}

// After writes to all other nodes.
Pairing all_dirty(int nodes) {
  const SyncWork work = work_of(nodes - 1, 8, 0, 20);
  Pairing pairing{fmt::format("sync_{}", nodes), kBaseline, {}, true, {}};
  pairing.rows.push_back(row(fmt::format("fence/{}_nodes", nodes), SyncOperation::fence, work));
  pairing.rows.push_back(row(fmt::format("barrier_at_once/{}_nodes", nodes), SyncOperation::barrier, work));
  // The same without the processing of the writes, which both sides have alike.
  SyncWork settled = work;
  settled.settle_us = 5000;
  pairing.rows.push_back(row(fmt::format("barrier/{}_nodes", nodes), SyncOperation::barrier, settled));
  return pairing;
}

// Figures 3.5 and 3.6.
Pairing fence_sweep(int window) {
  Pairing pairing{"sync_8", kBaseline, {fmt::format("GRAPNEL_FENCE_WINDOW={}", window)}, true, {}};
  for (const int targets : {2, 4, 6, 7}) {
    pairing.rows.push_back(row(fmt::format("thesis/fence/8_nodes/{}_destinations/K_{}", targets, window),
                               SyncOperation::fence, work_of(targets, 8, 0, 20)));
  }
  return pairing;
}

// Figures 4.3 to 4.5.
Pairing barrier_sweep() {
  Pairing pairing{"sync_8", kBaseline, {}, true, {}};
  for (const int bytes : {100, 4000}) {
    for (const int gap_us : {0, 10, 50, 100, 200}) {
      pairing.rows.push_back(row(fmt::format("thesis/barrier/8_nodes/{}B/gap_{}us", bytes, gap_us),
                                 SyncOperation::barrier, work_of(7, bytes, gap_us, 20)));
    }
  }
  return pairing;
}

// The limit goes around once per operation; `parts` of that way are the bare equivalent.
Pairing same_node(int ranks, SyncOperation limit, double parts) {
  Pairing pairing{fmt::format("sync_same_{}", ranks), {}, {}, false, {}};
  pairing.rows.push_back({fmt::format("same_node/barrier/{}_ranks", ranks), limit, SyncOperation::barrier,
                          work_of(0, 8, 0, ranks == 2 ? 20'000 : 500), parts});
  return pairing;
}

std::vector<Pairing> pairings() {
  std::vector<Pairing> all = {all_dirty(2), all_dirty(4), all_dirty(8)};
  all.push_back(same_node(2, SyncOperation::bounce, 0.5));  // one way is half of the way around
  all.push_back(same_node(4, SyncOperation::wake_around, 1));
  for (const int window : {1, 3, 5, 7}) all.push_back(fence_sweep(window));
  all.push_back(barrier_sweep());
  return all;
}

// In virtual time: `grapnel-bench-sim` knows them by these names.
const std::vector<std::string>& sim_rows() {
  static const std::vector<std::string> rows = {
      "sim/fence_serial/8_nodes/5ms_delay",   "sim/fence_overlapped/8_nodes/5ms_delay",
      "sim/barrier_serial/8_nodes/5ms_delay", "sim/barrier_exchange/8_nodes/5ms_delay",
      "sim/barrier_direct/8_nodes/5ms_delay", "sim/barrier_clean/8_nodes/5ms_delay",
      "sim/barrier_auto/8_nodes/5ms_delay"};
  return rows;
}

bool wants(const std::string& filter, const std::string& name) { return name.find(filter) != std::string::npos; }

bool run_once(TurnJob& job, const SyncRow& row, SyncOperation operation, double& time_ns) {
  SyncWork work = row.work;
  work.operation = operation;
  work.store(job.board());
  return job.run(time_ns);
}

bool measure(TurnJob& limit, TurnJob& ours, const SyncRow& row, int pairs, const OnRow& on_row) {
  Samples samples;
  for (int i = -1; i < pairs; ++i) {
    Pair pair{};
    if (!run_once(limit, row, row.limit, pair.limit) || !run_once(ours, row, row.ours, pair.ours)) return false;
    pair.limit *= row.limit_parts;
    if (i >= 0) samples.add(pair);  // the first is warm-up
  }
  const Pair middle = middle_pair(samples.pairs, Compare::ratio);
  Measurement m{.name = row.name, .unit = "us"};
  m.value = middle.ours * 1e-3;
  m.limit = middle.limit * 1e-3;
  m.runs = pairs;
  m.disturbed = middle.limit > kDisturbed * samples.least_limit;
  m.note = fmt::format("{:.2f} times faster", middle.limit / middle.ours);
  on_row(m);
  return true;
}

bool collect(const Pairing& pairing, const std::string& filter, const Effort& effort, const OnRow& on_row) {
  bool any = false;
  for (const SyncRow& one : pairing.rows) any |= wants(filter, one.name);
  if (!any) return true;
  TurnJob limit(job_kind(pairing.job), effort, pairing.limit);
  std::unique_ptr<TurnJob> second;
  if (pairing.two_jobs) second = std::make_unique<TurnJob>(job_kind(pairing.job), effort, pairing.ours);
  TurnJob& ours = second ? *second : limit;
  if (!limit.join() || (second && !second->join())) return false;
  bool well = true;
  for (const SyncRow& one : pairing.rows) {
    if (well && wants(filter, one.name)) well = measure(limit, ours, one, effort.pairs, on_row);
  }
  if (second) well &= second->end();
  return limit.end() && well;
}

}  // namespace

std::vector<std::string> sync_rows(const std::string& filter) {
  std::vector<std::string> names;
  for (const Pairing& pairing : pairings()) {
    for (const SyncRow& one : pairing.rows) {
      if (wants(filter, one.name)) names.push_back(one.name);
    }
  }
  for (const std::string& name : sim_rows()) {
    if (wants(filter, name)) names.push_back(name);
  }
  return names;
}

bool collect_sync(const std::string& filter, const Effort& effort, const OnRow& on_row) {
  bool all_well = true;
  for (const Pairing& pairing : pairings()) all_well &= collect(pairing, filter, effort, on_row);
  for (const std::string& name : sim_rows()) {
    if (!wants(filter, name)) continue;
    Job job({beside("grapnel-bench-sim"), name, "3"});
    all_well &= read_rows(job, on_row);
  }
  return all_well;
}

}  // namespace grapnel::bench
