// SPDX-License-Identifier: Apache-2.0
#include "dsm_papers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>

#include "scenarios/heap_costs.hpp"
#include "statistics.hpp"

namespace grapnel::bench {
namespace {

constexpr int kTurns = 5;  ///< of an operation, in a round

struct CostRow {
  std::string name;  ///< without the way
  HeapWork work;
};

/// One job for each way of progress.
struct CostPart {
  int nodes;
  std::vector<CostRow> rows;
};

// Few operations: each of the timer's waits for milliseconds.
std::vector<CostPart> cost_parts() {
  std::vector<CostPart> parts;
  for (const int nodes : {2, 4, 8}) {
    CostPart part{nodes, {}};
    if (nodes == 2) {
      part.rows.push_back({"page/2_nodes", {HeapCost::page, 0, 32}});
      part.rows.push_back({"diff/1_word/2_nodes", {HeapCost::diff, 1, 20}});
      part.rows.push_back({"diff/512_words/2_nodes", {HeapCost::diff, 512, 20}});
      part.rows.push_back({"lock/2_nodes", {HeapCost::lock, 0, 20}});
    }
    part.rows.push_back({fmt::format("barrier/{}_nodes", nodes), {HeapCost::barrier, 0, 20}});
    parts.push_back(part);
  }
  return parts;
}

std::string named(const CostRow& row, const WayOfProgress& way) { return row.name + "/" + way.name; }

bool wants(const std::string& filter, const std::string& name) { return name.find(filter) != std::string::npos; }

bool wants(const std::string& filter, const CostRow& row) {
  return std::any_of(ways_of_progress().begin(), ways_of_progress().end(),
                     [&](const WayOfProgress& way) { return wants(filter, named(row, way)); });
}

using Samples = std::map<std::string, std::vector<double>>;  // us, by row

bool run_job(const CostPart& part, const WayOfProgress& way, const std::string& filter, const Effort& effort,
             Samples& samples) {
  std::vector<std::string> settings = way.settings;
  settings.emplace_back("GRAPNEL_DSM_READ_AHEAD=1");
  settings.emplace_back("GRAPNEL_DSM_MOVES=off");  // or the page of the diffs would move to its writer
  TurnJob job(job_kind(fmt::format("heap_{}", part.nodes)), effort, settings);
  if (!job.join()) return false;
  for (int turn = -1; turn < kTurns * effort.pairs; ++turn) {  // the first is warm-up
    for (const CostRow& row : part.rows) {
      if (!wants(filter, row)) continue;
      row.work.store(job.board());
      double time_ns = 0;
      if (!job.run(time_ns)) return false;
      if (turn >= 0) samples[named(row, way)].push_back(time_ns * 1e-3);
    }
  }
  return job.end();
}

void show(const CostPart& part, const CostRow& row, const Samples& samples, const OnRow& on_row) {
  const std::string baseline = named(row, ways_of_progress().front());
  for (const WayOfProgress& way : ways_of_progress()) {
    const auto found = samples.find(named(row, way));
    if (found == samples.end()) continue;
    Measurement m{.name = found->first, .unit = "us", .value = median(found->second)};
    if (const auto limit = samples.find(baseline); limit != samples.end()) m.limit = median(limit->second);
    m.runs = static_cast<int>(found->second.size());
    m.low = percentile(found->second, 0.25);
    m.high = percentile(found->second, 0.75);
    m.note = shared_processors_note(part.nodes);
    on_row(m);
  }
}

bool collect_costs(const std::string& filter, const Effort& effort, const OnRow& on_row) {
  for (const CostPart& part : cost_parts()) {
    if (std::none_of(part.rows.begin(), part.rows.end(), [&](const CostRow& row) { return wants(filter, row); }))
      continue;
    Samples samples;
    for (const WayOfProgress& way : ways_of_progress()) {
      if (!run_job(part, way, filter, effort, samples)) return false;
    }
    for (const CostRow& row : part.rows) show(part, row, samples, on_row);
  }
  return true;
}

}  // namespace

const std::vector<WayOfProgress>& ways_of_progress() {
  static const std::vector<WayOfProgress> ways = {
      {"sockets", {"GRAPNEL_TRANSPORT=ucx", "GRAPNEL_PROGRESS=event"}},
      {"timer", {"GRAPNEL_TRANSPORT=ucx", "UCX_TLS=posix", "GRAPNEL_PROGRESS=timer"}},
      {"user_level", {"GRAPNEL_TRANSPORT=ucx", "UCX_TLS=posix"}}};
  return ways;
}

std::string shared_processors_note(int nodes) {
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  return nodes > processors ? fmt::format("{} nodes share {} processors", nodes, processors) : "";
}

std::vector<std::string> dsm_paper_rows(const std::string& filter) {
  std::vector<std::string> names;
  for (const CostPart& part : cost_parts()) {
    for (const CostRow& row : part.rows) {
      for (const WayOfProgress& way : ways_of_progress()) {
        if (wants(filter, named(row, way))) names.push_back(named(row, way));
      }
    }
  }
  const auto programs = dsm_program_rows(filter);
  names.insert(names.end(), programs.begin(), programs.end());
  return names;
}

bool collect_dsm_papers(const std::string& filter, const Effort& effort, const OnRow& on_row) {
  const bool costs_well = collect_costs(filter, effort, on_row);
  return collect_dsm_programs(filter, effort, on_row) && costs_well;
}

}  // namespace grapnel::bench
