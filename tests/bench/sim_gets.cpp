// grapnel-bench-sim: the row of grapnel-bench that needs virtual time.
//
// 100 nonblocking gets of 8 bytes between two simulated nodes, each message 1 ms under way; how many round trips they
// take together. It lies here because the simulated world is the tests'; grapnel-bench starts it and reads its row.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "harness/foundation.hpp"
#include "measurement.hpp"
#include "sim/sim_world.hpp"
#include "sim_locks.hpp"
#include "sim_sync.hpp"
#include "statistics.hpp"

namespace grapnel {
namespace {

constexpr int kGets = 100;
constexpr std::uint64_t kDelay_ns = base::kMillisecond_ns;

Status measure(sim::RankWorld& me, double& duration_ns) {
  auto started = runtime::assemble(test::foundation_of(me));
  if (!started) return started.status();
  Runtime& g = **started;
  const auto memory = g.allocate(kGets * sizeof(std::uint64_t));
  if (!memory) return memory.status();
  GRAPNEL_TRY(g.barrier());
  if (g.rank() == Rank{0}) {
    std::vector<std::uint64_t> words(kGets);
    const auto* remote = static_cast<const std::uint64_t*>(memory->on(Rank{1}));
    const std::uint64_t begin_ns = me.host.now_ns();
    for (std::size_t i = 0; i < words.size(); ++i) GRAPNEL_TRY(g.start_get(remote + i, &words[i], 8, Rank{1}));
    GRAPNEL_TRY(g.wait_implicit());
    duration_ns = static_cast<double>(me.host.now_ns() - begin_ns);
  }
  GRAPNEL_TRY(g.barrier());
  return g.finish();
}

bool run(const std::string& name, int runs) {
  std::vector<bench::Pair> pairs;
  for (int seed = 1; seed <= runs; ++seed) {
    sim::WorldOptions options{.ranks = 2, .nodes = 2};
    options.seed(static_cast<std::uint64_t>(seed));
    options.network.delay_ns = kDelay_ns;
    double duration_ns = 0;
    Status failure;
    const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
      const Status status = measure(me, duration_ns);
      if (!status.ok()) failure = status;
    });
    if (!outcome.ok() || !failure.ok()) {
      fmt::print(stderr, "grapnel-bench-sim: seed {}: {}\n{}", seed, failure.to_string(), outcome.report);
      return false;
    }
    pairs.push_back({static_cast<double>(2 * kDelay_ns), duration_ns});
  }
  const bench::Pair middle = bench::middle_pair(pairs, bench::Compare::ratio);
  bench::Measurement m{.name = name, .unit = "ms"};
  m.value = middle.ours * 1e-6;
  m.limit = middle.limit * 1e-6;
  m.runs = runs;
  m.note = "virtual time";
  fmt::print("{}\n", bench::to_line(m));
  return true;
}

}  // namespace
}  // namespace grapnel

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: grapnel-bench-sim ROW RUNS; grapnel-bench starts it\n");
    return 2;
  }
  const std::string row = argv[1];
  const int runs = std::atoi(argv[2]);
  if (row.find("gets") != std::string::npos) return grapnel::run(row, runs) ? 0 : 1;
  if (row.find("delay/") != std::string::npos) return grapnel::run_lock_row(row, runs) ? 0 : 1;
  return grapnel::run_sync_row(row, runs) ? 0 : 1;
}
