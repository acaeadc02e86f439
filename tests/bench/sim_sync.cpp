// Fence and barrier of 8 nodes, every one of which has written to all others, with 5 ms one way: where time is network
// time. The limit is the number of delays on the path that the algorithm has by its description.
// SPDX-License-Identifier: Apache-2.0
#include "sim_sync.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/foundation.hpp"
#include "measurement.hpp"
#include "rma/settings.hpp"
#include "sim/sim_world.hpp"
#include "statistics.hpp"
#include "sync/settings.hpp"

namespace grapnel {
namespace {

constexpr int kNodes = 8;
constexpr std::uint64_t kDelay_ns = 5 * base::kMillisecond_ns;

struct SyncRow {
  const char* name;
  rma::FenceKind fence;
  sync::BarrierKind barrier;
  bool fences;  ///< only; else it is a barrier
  bool writes;
  int delays;
};

constexpr SyncRow kRows[] = {
    {"sim/fence_serial/8_nodes/5ms_delay", rma::FenceKind::serial, sync::BarrierKind::serial, true, true, 14},
    {"sim/fence_overlapped/8_nodes/5ms_delay", rma::FenceKind::overlapped, sync::BarrierKind::automatic, true, true, 2},
    {"sim/barrier_serial/8_nodes/5ms_delay", rma::FenceKind::serial, sync::BarrierKind::serial, false, true, 17},
    {"sim/barrier_exchange/8_nodes/5ms_delay", rma::FenceKind::overlapped, sync::BarrierKind::exchange, false, true, 6},
    {"sim/barrier_direct/8_nodes/5ms_delay", rma::FenceKind::overlapped, sync::BarrierKind::direct, false, true, 4},
    {"sim/barrier_clean/8_nodes/5ms_delay", rma::FenceKind::overlapped, sync::BarrierKind::clean, false, false, 3},
    {"sim/barrier_auto/8_nodes/5ms_delay", rma::FenceKind::overlapped, sync::BarrierKind::automatic, false, true, 4},
};

// All ranks go on at the same virtual time.
void line_up(os::Host& host) {
  constexpr std::uint64_t kStep_ns = base::kSecond_ns;
  sim::pass_time(host, kStep_ns - host.now_ns() % kStep_ns);
}

Status write_to_all(Runtime& g, const Memory& memory) {
  const std::uint64_t value = 1;
  for (int step = 1; step < g.size(); ++step) {
    const Rank to{(static_cast<int>(index(g.rank())) + step) % g.size()};
    // More than a write would ask for its own acknowledgement.
    for (int i = 0; i < 4; ++i) GRAPNEL_TRY(g.put(&value, memory.on(to), sizeof value, to));
  }
  return {};
}

Status measure(sim::RankWorld& me, const SyncRow& row, double& duration_ns) {
  auto foundation = test::foundation_of(me);
  foundation.config.change<rma::Settings>().fence = row.fence;
  foundation.config.change<sync::Settings>().barrier = row.barrier;
  auto started = runtime::assemble(std::move(foundation));
  if (!started) return started.status();
  Runtime& g = **started;
  const auto memory = g.allocate(8);
  if (!memory) return memory.status();
  for (int round = 0; round < 3; ++round) {  // the last one counts: every rank is connected, and the plan has settled
    line_up(me.host);
    if (row.writes) GRAPNEL_TRY(write_to_all(g, *memory));
    const std::uint64_t begin_ns = me.host.now_ns();
    GRAPNEL_TRY(row.fences ? g.fence_all() : g.barrier());
    duration_ns = static_cast<double>(me.host.now_ns() - begin_ns);
    GRAPNEL_TRY(g.barrier());
    if (row.writes && !row.fences) GRAPNEL_TRY(write_to_all(g, *memory));  // so that the next one expects some
    GRAPNEL_TRY(g.barrier());
  }
  return g.finish();
}

}  // namespace

bool run_sync_row(const std::string& name, int runs) {
  const auto* const row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const SyncRow& r) { return r.name == name; });
  if (row == std::end(kRows)) return false;
  std::vector<bench::Pair> pairs;
  for (int seed = 1; seed <= runs; ++seed) {
    sim::WorldOptions options{.ranks = kNodes, .nodes = kNodes};
    options.seed(static_cast<std::uint64_t>(seed));
    options.network.delay_ns = kDelay_ns;
    std::vector<double> durations_ns(kNodes);
    std::vector<Status> failures(kNodes);
    const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
      failures[index(me.rank)] = measure(me, *row, durations_ns[index(me.rank)]);
    });
    const bool well =
        outcome.ok() && std::all_of(failures.begin(), failures.end(), [](const Status& s) { return s.ok(); });
    if (!well) {
      fmt::print(stderr, "grapnel-bench-sim: {}, seed {}: {}\n{}", name, seed, failures[0].to_string(), outcome.report);
      return false;
    }
    pairs.push_back({static_cast<double>(row->delays) * static_cast<double>(kDelay_ns),
                     *std::max_element(durations_ns.begin(), durations_ns.end())});
  }
  const bench::Pair middle = bench::middle_pair(pairs, bench::Compare::ratio);
  bench::Measurement m{.name = name, .unit = "ms"};
  m.value = middle.ours * 1e-6;
  m.limit = middle.limit * 1e-6;
  m.runs = runs;
  m.note = fmt::format("virtual time; {} delays", row->delays);
  fmt::print("{}\n", bench::to_line(m));
  return true;
}

}  // namespace grapnel
