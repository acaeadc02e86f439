// SPDX-License-Identifier: Apache-2.0
#include "dsm_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dsm_plan.hpp"
#include "limits/trap.h"
#include "pairs.hpp"
#include "turns.hpp"

namespace grapnel::bench {
namespace {

bool wants(const std::string& filter, const std::string& name) { return name.find(filter) != std::string::npos; }

// The part's rows that are wanted, and no others.
DsmPart wanted_of(DsmPart part, const std::string& filter) {
  for (DsmCounting& counting : part.counts) {
    std::erase_if(counting.rows, [&](const DsmCount& row) { return !wants(filter, row.name); });
  }
  std::erase_if(part.counts, [](const DsmCounting& counting) { return counting.rows.empty(); });
  std::erase_if(part.pairs, [&](const DsmPairs& row) { return !wants(filter, row.name); });
  return part;
}

std::vector<std::string> names_of(const DsmPart& part) {
  std::vector<std::string> names;
  for (const DsmCounting& counting : part.counts) {
    for (const DsmCount& row : counting.rows) names.push_back(row.name);
  }
  for (const DsmPairs& row : part.pairs) names.push_back(row.name);
  return names;
}

// Why there is no such trap here; empty: there is.
std::string obstacle(DsmTrap trap) {
  limit_trap* const trial = limit_trap_open(trap == DsmTrap::uffd ? LIMIT_TRAP_UFFD : LIMIT_TRAP_MPROTECT, 1);
  if (trial == nullptr) return fmt::format("no trap by {} here: {}", to_string(trap), std::strerror(errno));
  limit_trap_close(trial);
  return "";
}

bool run_once(TurnJob& job, const DsmWork& work, double& time_ns) {
  work.store(job.board());
  return job.run(time_ns);
}

bool count(TurnJob& job, const DsmCounting& counting, const OnRow& on_row) {
  double time_ns = 0;
  if (!run_once(job, counting.work, time_ns)) return false;
  const double* const numbers = job.board().page().number;
  for (const DsmCount& row : counting.rows) {
    Measurement m{.name = row.name, .unit = row.unit, .value = numbers[row.number]};
    if (row.limit) m.limit = numbers[*row.limit];
    m.runs = 1;
    on_row(m);
  }
  return true;
}

Measurement row_of(const DsmPairs& row, const Samples& samples) {
  const Pair middle = middle_pair(samples.pairs, Compare::ratio);
  Measurement m{.name = row.name, .unit = row.unit, .value = middle.ours * row.scale};
  m.limit = middle.limit * row.scale;
  m.runs = static_cast<int>(samples.pairs.size());
  m.disturbed = middle.limit > kDisturbed * samples.least_limit;
  return m;
}

// False: the job failed, or it computed something else than its limit.
bool measure(TurnJob& job, const DsmPairs& row, const Effort& effort, const OnRow& on_row) {
  Samples samples;
  const int pairs = std::min(effort.pairs, row.most.value_or(effort.pairs));
  for (int i = -1; i < pairs; ++i) {
    Pair pair{};
    if (!run_once(job, row.limit, pair.limit)) return false;
    const double expected = job.board().page().number[kChecksum];
    if (!run_once(job, row.ours, pair.ours)) return false;
    if (row.same_result && job.board().page().number[kChecksum] != expected) {
      fmt::print(stderr, "grapnel-bench: {}: the two results differ\n", row.name);
      return false;
    }
    if (i >= 0) samples.add(pair);  // the first is warm-up
  }
  on_row(row_of(row, samples));
  return true;
}

bool collect(const DsmPart& part, const Effort& effort, const PeerSink& sink) {
  const std::string why = part.trap ? obstacle(*part.trap) : "";
  if (!why.empty()) {
    for (const std::string& name : names_of(part)) sink.on_skip(name, why);
    return true;
  }
  std::vector<std::string> settings;
  if (part.trap) settings.push_back("GRAPNEL_DSM_TRAP=" + to_string(*part.trap));
  if (!part.moves) settings.push_back("GRAPNEL_DSM_MOVES=off");
  TurnJob job(job_kind(part.job), effort, settings);
  bool well = job.join();
  for (const DsmCounting& counting : part.counts) well = well && count(job, counting, sink.on_row);
  for (const DsmPairs& row : part.pairs) well = well && measure(job, row, effort, sink.on_row);
  return job.end() && well;
}

}  // namespace

std::vector<std::string> dsm_rows(const std::string& filter) {
  std::vector<std::string> names;
  for (const DsmPart& part : dsm_plan()) {
    for (std::string& name : names_of(wanted_of(part, filter))) names.push_back(std::move(name));
  }
  return names;
}

bool collect_dsm(const std::string& filter, const Effort& effort, const PeerSink& sink) {
  bool all_well = true;
  for (const DsmPart& part : dsm_plan()) {
    const DsmPart wanted = wanted_of(part, filter);
    if (!names_of(wanted).empty()) all_well &= collect(wanted, effort, sink);
  }
  return all_well;
}

}  // namespace grapnel::bench
