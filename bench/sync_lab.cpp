// SPDX-License-Identifier: Apache-2.0
#include "sync_lab.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace grapnel::bench {
namespace {

constexpr const char* kDelay = "5ms";
constexpr int kMostHosts = 8;   ///< where the single algorithms are measured, too
constexpr int kOperations = 3;  ///< of a turn
constexpr int kRounds = 10;     ///< acquisitions of each rank in a turn
// A wire that takes milliseconds varies little.
constexpr int kPairs = 7;
constexpr int kPairsQuick = 3;
// More writes to a node than ask for their acknowledgement themselves …
constexpr std::uint64_t kWrites = 3;
// … and time for them to be applied: all hosts share this machine's processors, and what they do with the writes is
// on no path.
constexpr std::uint64_t kSettle_us = 20'000;

const std::vector<std::string> kSerial = {"GRAPNEL_FENCE=serial", "GRAPNEL_BARRIER=serial"};

struct LabPart {
  int hosts;
  std::vector<Pairing> pairings;
};

SyncWork writes_to_all(int hosts) {
  SyncWork work = work_of(hosts - 1, 8, 0, kOperations);
  work.writes = kWrites;
  work.settle_us = kSettle_us;
  return work;
}

int rounds_of(int hosts) {
  int rounds = 0;
  for (int reached = 1; reached < hosts; reached *= 2) ++rounds;
  return rounds;
}

// The limit: so many one-way trips of a bare datagram, measured in the same job.
SyncRow path(const std::string& name, SyncOperation ours, const SyncWork& work, int trips) {
  return {name, SyncOperation::ping_pong, ours, work, trips / 2.0, fmt::format("{} trips", trips)};
}

Pairing alone(int hosts, const std::vector<std::string>& settings, std::vector<SyncRow> rows) {
  return {fmt::format("sync_{}", hosts), settings, {}, false, std::move(rows)};
}

std::vector<Pairing> paths(int hosts) {
  const auto name = [&](const char* what) { return fmt::format("lab_{}/path/{}", hosts, what); };
  const int others = hosts - 1, rounds = rounds_of(hosts);
  const SyncWork dirty = writes_to_all(hosts);
  const SyncWork clean = work_of(0, 8, 0, kOperations);
  return {
      alone(hosts, kSerial,
            {path(name("fence_serial"), SyncOperation::fence, dirty, 2 * others),
             path(name("barrier_serial"), SyncOperation::barrier, dirty, 2 * others + rounds)}),
      alone(hosts, {"GRAPNEL_BARRIER=exchange"},
            {path(name("fence_overlapped"), SyncOperation::fence, dirty, 2),
             path(name("barrier_exchange"), SyncOperation::barrier, dirty, 2 * rounds)}),
      alone(hosts, {"GRAPNEL_BARRIER=direct"},
            {path(name("barrier_direct"), SyncOperation::barrier, dirty, 1 + rounds)}),
      alone(hosts, {"GRAPNEL_BARRIER=clean"}, {path(name("barrier_clean"), SyncOperation::barrier, clean, rounds)})};
}

// The home's own rank stays away from its lock: for it, a hand-over through the home's server is no trip. Where there
// are less than four others, one wants the lock again before its request has reached the home: no row.
Pairing locks(int hosts) {
  std::vector<SyncRow> rows;
  for (const auto& [kind, trips] : {std::pair(LockKind::server_queue, 2), std::pair(LockKind::armci_hybrid, 2),
                                    std::pair(LockKind::mcs, 1), std::pair(LockKind::cohort, 1)}) {
    rows.push_back(path(fmt::format("lab_{}/path/hand_off/{}", hosts, to_string(kind)), SyncOperation::hand_off,
                        lock_work_of(kind, 1, kRounds), trips));
  }
  for (const LockKind baseline : {LockKind::server_queue, LockKind::armci_hybrid}) {
    SyncRow row{fmt::format("lab_{}/lock/over_{}", hosts, to_string(baseline)),
                SyncOperation::lock_both,
                SyncOperation::lock_both,
                lock_work_of(LockKind::cohort, 1, kRounds),
                1,
                "thesis: 1.7"};
    row.limit_lock = baseline;
    rows.push_back(std::move(row));
  }
  return alone(hosts, {}, std::move(rows));
}

// Ours, as it is without any setting, and the papers'.
Pairing against_baselines(int hosts) {
  const SyncWork dirty = writes_to_all(hosts);
  const auto name = [&](const char* what) { return fmt::format("lab_{}/{}", hosts, what); };
  const auto remark = [&](const char* of_8_nodes) { return hosts == kMostHosts ? of_8_nodes : ""; };
  return {fmt::format("sync_{}", hosts),
          kSerial,
          {},
          true,
          {{name("fence"), SyncOperation::fence, SyncOperation::fence, dirty, 1, remark("thesis: 1.72")},
           {name("barrier"), SyncOperation::barrier, SyncOperation::barrier, dirty, 1, remark("thesis: 3.58")}}};
}

std::vector<LabPart> parts() {
  std::vector<LabPart> all;
  for (const int hosts : {2, 4, kMostHosts}) {
    LabPart part{hosts, {against_baselines(hosts)}};
    if (hosts == kMostHosts) {
      for (Pairing& pairing : paths(hosts)) part.pairings.push_back(std::move(pairing));
      part.pairings.push_back(locks(hosts));
    }
    all.push_back(std::move(part));
  }
  return all;
}

std::vector<std::string> names_of(const LabPart& part, const std::function<bool(const std::string&)>& wants) {
  std::vector<std::string> names;
  for (const Pairing& pairing : part.pairings) {
    for (const SyncRow& row : pairing.rows) {
      if (wants(row.name)) names.push_back(row.name);
    }
  }
  return names;
}

bool collect(const LabPart& part, const std::function<bool(const std::string&)>& wants, const Effort& effort,
             const PeerSink& sink) {
  const std::vector<std::string> names = names_of(part, wants);
  if (names.empty()) return true;
  const Lab lab(part.hosts, kDelay);
  if (!lab.is_up()) {
    for (const std::string& name : names) {
      sink.on_skip(name, "there can be no lab here (its reason is above)");
    }
    return true;
  }
  Effort few = effort;
  few.pairs = std::min(effort.pairs, effort.quick ? kPairsQuick : kPairs);
  bool well = true;
  for (const Pairing& pairing : part.pairings) well &= measure_pairing(pairing, wants, few, sink.on_row, &lab);
  return well;
}

}  // namespace

std::vector<std::string> sync_lab_rows() {
  std::vector<std::string> names;
  for (const LabPart& part : parts()) {
    const auto some = names_of(part, [](const std::string&) { return true; });
    names.insert(names.end(), some.begin(), some.end());
  }
  return names;
}

bool collect_sync_lab(const std::function<bool(const std::string&)>& wants, const Effort& effort,
                      const PeerSink& sink) {
  bool well = true;
  for (const LabPart& part : parts()) well &= collect(part, wants, effort, sink);
  return well;
}

}  // namespace grapnel::bench
