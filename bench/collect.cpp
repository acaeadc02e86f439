// SPDX-License-Identifier: Apache-2.0
#include "collect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "jobs.hpp"
#include "pairs.hpp"
#include "rank.hpp"
#include "shared_page.hpp"
#include "turns.hpp"

namespace grapnel::bench {
namespace {

constexpr int kQuickRounds = 3;
const std::string kSim = "sim/gets_100/1ms_delay";
const std::string kOversubscribed = "oversubscribed/8_ranks_4_nodes";

bool wants(const RmaOptions& options, const std::string& name) {
  if (options.only_peers && name.rfind("peers/", 0) != 0) return false;
  return name.find(options.filter) != std::string::npos;
}

bool wants_any(const RmaOptions& options, const JobKind& kind) {
  for (const Task& task : kind.tasks) {
    if (wants(options, task.name)) return true;
  }
  return false;
}

Measurement middle_round(std::vector<Measurement>& rounds) {
  const auto ratio = [](const Measurement& m) { return m.value / m.limit.value_or(1); };
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>((rounds.size() - 1) / 2);
  std::nth_element(rounds.begin(), middle, rounds.end(),
                   [&](const Measurement& one, const Measurement& other) { return ratio(one) < ratio(other); });
  return *middle;
}

// Each row as the round measured it whose ratio is the median.
bool run_job(const JobKind& kind, const RmaOptions& options, const OnRow& on_row) {
  std::map<std::string, std::vector<Measurement>> measured;
  bool all_well = true;
  const int rounds = options.effort.quick ? std::min(kind.rounds, kQuickRounds) : kind.rounds;
  for (int round = 0; round < rounds && all_well; ++round) {
    const SharedPage board = SharedPage::create();
    Job job(job_command(kind, options.effort, board, options.filter));
    all_well &= read_rows(job, [&](const Measurement& m) {
      if (rounds == 1) return on_row(m);  // at once: the user sees how far it is
      measured[m.name].push_back(m);
    });
  }
  for (auto& [name, of_rounds] : measured) on_row(middle_round(of_rounds));
  return all_well;
}

// ---- the same work by 2 ranks and by 8: both jobs are there, and take turns ----

bool oversubscribed(const RmaOptions& options, const OnRow& on_row) {
  TurnJob two(job_kind("share_2"), options.effort);
  TurnJob eight(job_kind("share_8"), options.effort);
  if (!two.join() || !eight.join()) return false;
  Samples samples;
  for (int i = -1; i < options.effort.pairs; ++i) {
    Pair pair{};
    if (!two.run(pair.limit) || !eight.run(pair.ours)) return false;
    if (i >= 0) samples.add(pair);  // the first is warm-up
  }
  const Pair middle = middle_pair(samples.pairs, Compare::ratio);
  Measurement m{.name = kOversubscribed, .unit = "ms"};
  m.value = middle.ours * 1e-6;
  // The limit is ours, too, and two ranks have slow runs: then their best one counts, which the eight find harder.
  const bool slow = middle.limit > kDisturbed * samples.least_limit;
  m.limit = (slow ? samples.least_limit : middle.limit) * 1e-6;
  m.runs = static_cast<int>(samples.pairs.size());
  on_row(m);
  const bool two_well = two.end();
  return eight.end() && two_well;
}

bool run_sim(const RmaOptions& options, const OnRow& on_row) {
  Job job({beside("grapnel-bench-sim"), kSim, std::to_string(options.effort.pairs)});
  return read_rows(job, on_row);
}

}  // namespace

std::vector<std::string> rma_rows(const RmaOptions& options) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (wants(options, name)) names.push_back(name);
  };
  for (const JobKind& kind : job_kinds()) {
    for (const Task& task : kind.tasks) add(task.name);
  }
  add(kSim);
  add(kOversubscribed);
  for (const PeerPlace place : {PeerPlace::same_node, PeerPlace::two_hosts}) {
    for (const PeerRow& row : peer_rows(place)) add(row.name);
  }
  return names;
}

bool collect_rma(const RmaOptions& options, const PeerSink& sink) {
  const OnRow& on_row = sink.on_row;
  bool all_well = true;
  for (const JobKind& kind : job_kinds()) {
    if (wants_any(options, kind)) all_well &= run_job(kind, options, on_row);
  }
  if (wants(options, kSim)) all_well &= run_sim(options, on_row);
  if (wants(options, kOversubscribed)) all_well &= oversubscribed(options, on_row);
  all_well &= collect_peers(
      options.effort, [&](const std::string& name) { return wants(options, name); }, sink);
  return all_well;
}

}  // namespace grapnel::bench
