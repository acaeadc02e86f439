// SPDX-License-Identifier: Apache-2.0
#include "dse_rows.hpp"

#include <algorithm>
#include <optional>

#include "dse_plan.hpp"
#include "lab.hpp"
#include "statistics.hpp"
#include "turns.hpp"

namespace grapnel::bench {
namespace {

constexpr const char* kLabDelay = "1ms";
constexpr int kLabRounds = 5;  // a wire that takes milliseconds varies little

bool wants(const std::string& filter, const std::string& name) {
  return !name.empty() && name.find(filter) != std::string::npos;
}

bool wants(const std::string& filter, const DseRow& row) {
  return wants(filter, row.name) || wants(filter, row.messages_name);
}

/// What one side of a row found, one per round.
struct Found {
  std::vector<double> time_us;
  double messages = 0;
};

struct Sampled {
  const DseRow* row;
  Found ours, limit;
};

bool run_once(TurnJob& job, const DseWork& work, bool counts, Found& found) {
  work.store(job.board());
  double time_ns = 0;
  if (!job.run(time_ns)) return false;
  if (counts) found.time_us.push_back(time_ns * 1e-3);
  found.messages = job.board().page().number[kDseMessages];
  return true;
}

Measurement time_row(const Sampled& sampled) {
  const std::vector<double>& ours = sampled.ours.time_us;
  Measurement m{.name = sampled.row->name, .unit = "us", .value = median(ours)};
  m.limit = median(sampled.limit.time_us) * sampled.row->limit_parts;
  m.runs = static_cast<int>(ours.size());
  m.low = percentile(ours, 0.25);
  m.high = percentile(ours, 0.75);
  return m;
}

Measurement messages_row(const Sampled& sampled) {
  Measurement m{.name = sampled.row->messages_name, .unit = "messages", .value = sampled.ours.messages};
  m.limit = sampled.limit.messages;
  m.runs = 1;
  return m;
}

bool measure(const DsePart& part, std::vector<Sampled>& all, const Effort& effort, const Lab* lab) {
  TurnJob job(job_kind(part.job), effort, part.settings, lab);
  if (!job.join()) return false;
  const int rounds = lab == nullptr ? effort.pairs : std::min(effort.pairs, kLabRounds);
  for (int round = -1; round < rounds; ++round) {  // the first is warm-up
    for (Sampled& one : all) {
      const bool counts = round >= 0;
      if (!run_once(job, one.row->limit, counts, one.limit)) return false;
      if (!run_once(job, one.row->ours, counts, one.ours)) return false;
    }
  }
  return job.end();
}

bool collect(const DsePart& part, const std::string& filter, const Effort& effort, const PeerSink& sink) {
  std::vector<Sampled> all;
  for (const DseRow& row : part.rows) {
    if (wants(filter, row)) all.push_back({&row, {}, {}});
  }
  if (all.empty()) return true;
  std::optional<Lab> lab;
  if (part.lab_hosts > 0) lab.emplace(part.lab_hosts, kLabDelay);
  if (lab && !lab->is_up()) {
    for (const Sampled& one : all) sink.on_skip(one.row->name, "there can be no lab here (its reason is above)");
    return true;
  }
  if (!measure(part, all, effort, lab ? &*lab : nullptr)) return false;
  for (const Sampled& one : all) {
    if (wants(filter, one.row->name)) sink.on_row(time_row(one));
    if (wants(filter, one.row->messages_name)) sink.on_row(messages_row(one));
  }
  return true;
}

}  // namespace

std::vector<std::string> dse_rows(const std::string& filter) {
  std::vector<std::string> names;
  for (const DsePart& part : dse_plan()) {
    for (const DseRow& row : part.rows) {
      for (const std::string& name : {row.name, row.messages_name}) {
        if (wants(filter, name)) names.push_back(name);
      }
    }
  }
  return names;
}

bool collect_dse(const std::string& filter, const Effort& effort, const PeerSink& sink) {
  bool all_well = true;
  for (const DsePart& part : dse_plan()) all_well &= collect(part, filter, effort, sink);
  return all_well;
}

}  // namespace grapnel::bench
