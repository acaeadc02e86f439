// SPDX-License-Identifier: Apache-2.0
#include "sync_rows.hpp"

#include <fmt/format.h>

#include "sync_lab.hpp"
#include "sync_pairing.hpp"

namespace grapnel::bench {
namespace {

using Settings = std::vector<std::string>;

// So that all of them end within minutes.
constexpr int kSweepPairs = 31, kSweepOperations = 10;
constexpr std::uint64_t kSettle_us = 3000;  ///< for the writes before an operation to be applied

// The papers' algorithms, the limit of every row between nodes. One window of the fence is the serial one, too.
const Settings kBaseline = {"GRAPNEL_FENCE=serial", "GRAPNEL_BARRIER=serial"};

SyncRow row(std::string name, SyncOperation operation, const SyncWork& work) {
  return {std::move(name), operation, operation, work};
}

SyncRow with_remark(SyncRow row, int nodes, const char* remark) {
  if (nodes == 8) row.remark = remark;
  return row;
}

// After writes to all other nodes.
Pairing all_dirty(int nodes) {
  const SyncWork work = work_of(nodes - 1, 8, 0, 20);
  Pairing pairing{fmt::format("sync_{}", nodes), kBaseline, {}, true, {}};
  pairing.rows.push_back(
      with_remark(row(fmt::format("fence/{}_nodes", nodes), SyncOperation::fence, work), nodes, "thesis: 1.72"));
  pairing.rows.push_back(row(fmt::format("barrier_at_once/{}_nodes", nodes), SyncOperation::barrier, work));
  // The same without the processing of the writes, which both sides have alike.
  SyncWork settled = work;
  settled.settle_us = kSettle_us;
  pairing.rows.push_back(
      with_remark(row(fmt::format("barrier/{}_nodes", nodes), SyncOperation::barrier, settled), nodes, "thesis: 3.58"));
  return pairing;
}

// Figures 5.4 and 5.5: all ranks but its own want the lock of rank 0 again and again.
Pairing contended_lock(int nodes) {
  Pairing pairing{fmt::format("sync_{}", nodes), {}, {}, false, {}};
  const std::pair<const char*, SyncOperation> parts[] = {{"both", SyncOperation::lock_both},
                                                         {"acquire", SyncOperation::lock_acquire},
                                                         {"release", SyncOperation::lock_release}};
  for (const auto& [part, operation] : parts) {
    SyncRow one = row(fmt::format("lock/{}_nodes/{}", nodes, part), operation, lock_work_of(LockKind::cohort, 1, 50));
    one.limit_lock = LockKind::armci_hybrid;
    if (operation == SyncOperation::lock_both) one = with_remark(std::move(one), nodes, "thesis: 1.7");
    pairing.rows.push_back(std::move(one));
  }
  return pairing;
}

// Figures 3.5 and 3.6.
Pairing fence_sweep(int window) {
  Pairing pairing{"sync_8", kBaseline, {fmt::format("GRAPNEL_FENCE_WINDOW={}", window)}, true, {}, kSweepPairs};
  for (const int targets : {2, 4, 6, 7}) {
    SyncWork work = work_of(targets, 8, 0, kSweepOperations);
    work.writes = 4;  // with one or two, they would ask for their acknowledgements themselves
    pairing.rows.push_back(
        row(fmt::format("thesis/fence/8_nodes/{}_destinations/K_{}", targets, window), SyncOperation::fence, work));
  }
  return pairing;
}

// Figures 4.3 to 4.5.
Pairing barrier_sweep() {
  Pairing pairing{"sync_8", kBaseline, {}, true, {}, kSweepPairs};
  for (const int bytes : {100, 4000}) {
    for (const int gap_us : {0, 10, 50, 100, 200}) {
      pairing.rows.push_back(row(fmt::format("thesis/barrier/8_nodes/{}B/gap_{}us", bytes, gap_us),
                                 SyncOperation::barrier, work_of(7, bytes, gap_us, kSweepOperations)));
    }
  }
  return pairing;
}

// The plan that the barrier chooses by itself, beside those that it could have taken.
std::vector<Pairing> choices(int nodes) {
  std::vector<Pairing> all;
  for (const char* plan : {"exchange", "direct", "few", "gather"}) {
    // Right after the writes: `few` makes them ask for their acknowledgements, and that is a part of its price.
    const SyncWork work = work_of(nodes - 1, 8, 0, kSweepOperations);
    Pairing pairing{
        fmt::format("sync_{}", nodes), {fmt::format("GRAPNEL_BARRIER={}", plan)}, {}, true, {}, kSweepPairs};
    pairing.rows.push_back(row(fmt::format("choice/{}_nodes/against_{}", nodes, plan), SyncOperation::barrier, work));
    all.push_back(std::move(pairing));
  }
  return all;
}

// The limit moves around once per operation; parts of that way are the bare equivalents.
Pairing same_node(int ranks, SyncOperation limit, double of_barrier, double of_hand_off) {
  Pairing pairing{fmt::format("sync_same_{}", ranks), {}, {}, false, {}};
  pairing.in_node = true;
  const auto add = [&](const char* what, SyncOperation bare, SyncOperation ours, double parts) {
    SyncWork work = work_of(0, 8, 0, ranks == 2 ? 20'000 : 500);
    work.lock = static_cast<std::uint64_t>(LockKind::cohort);
    pairing.rows.push_back({fmt::format("same_node/{}/{}_ranks", what, ranks), bare, ours, work, parts});
  };
  add("barrier", limit, SyncOperation::barrier, of_barrier);
  if (ranks == 2) add("hand_off", limit, SyncOperation::hand_off, of_hand_off);
  add(ranks == 2 ? "contended" : "hand_off", limit, SyncOperation::contended, of_hand_off);
  if (ranks == 2) add("free_lock", SyncOperation::two_adds, SyncOperation::free_lock, 1);
  return pairing;
}

std::vector<Pairing> pairings() {
  std::vector<Pairing> all = {all_dirty(2), all_dirty(4), all_dirty(8)};
  for (const int nodes : {2, 4, 8}) all.push_back(contended_lock(nodes));
  for (const int nodes : {2, 4, 8}) {
    for (Pairing& pairing : choices(nodes)) all.push_back(std::move(pairing));
  }
  all.push_back(same_node(2, SyncOperation::bounce, 0.5, 0.5));  // one way is half of the way around
  all.push_back(same_node(4, SyncOperation::wake_around, 1, 0.25));
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

}  // namespace

std::vector<std::string> sync_rows(const std::string& filter) {
  std::vector<std::string> names;
  for (const Pairing& pairing : pairings()) {
    for (const SyncRow& one : pairing.rows) {
      if (wants(filter, one.name)) names.push_back(one.name);
    }
  }
  for (const auto& more : {sync_lab_rows(), sim_rows()}) {
    for (const std::string& name : more) {
      if (wants(filter, name)) names.push_back(name);
    }
  }
  return names;
}

bool collect_sync(const std::string& filter, const Effort& effort, const PeerSink& sink) {
  const auto wanted = [&](const std::string& name) { return wants(filter, name); };
  bool all_well = true;
  for (const Pairing& pairing : pairings()) all_well &= measure_pairing(pairing, wanted, effort, sink.on_row);
  all_well &= collect_sync_lab(wanted, effort, sink);
  for (const std::string& name : sim_rows()) {
    if (!wants(filter, name)) continue;
    Job job({beside("grapnel-bench-sim"), name, "3"});
    all_well &= read_rows(job, sink.on_row);
  }
  return all_well;
}

}  // namespace grapnel::bench
