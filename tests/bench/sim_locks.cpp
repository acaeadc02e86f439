// The delay of a hand-over between nodes (mpi2-passive, 6.2), with 5 ms one way: where time is network time. The limit
// is one delay, so that the ratio is the number of delays on the path.
// SPDX-License-Identifier: Apache-2.0
#include "sim_locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/foundation.hpp"
#include "measurement.hpp"
#include "sim/sim_world.hpp"
#include "statistics.hpp"

namespace grapnel {
namespace {

constexpr std::uint64_t kDelay_ns = 5 * base::kMillisecond_ns;
constexpr Rank kHome{0}, kFirst{1}, kSecond{2};

// The first holds the lock until well after the second has queued behind it. When they left and entered.
Status hand_over(sim::RankWorld& me, Runtime& g, LockSet& locks, std::uint64_t& first_left_ns,
                 std::uint64_t& second_entered_ns) {
  if (me.rank == kFirst) GRAPNEL_TRY(locks.lock(0, kHome));
  GRAPNEL_TRY(g.barrier());
  if (me.rank == kFirst) {
    sim::pass_time(me.host, 20 * kDelay_ns);
    first_left_ns = me.host.now_ns();
    GRAPNEL_TRY(locks.unlock(0, kHome));
  }
  if (me.rank == kSecond) {
    GRAPNEL_TRY(locks.lock(0, kHome));
    second_entered_ns = me.host.now_ns();
    GRAPNEL_TRY(locks.unlock(0, kHome));
  }
  return g.barrier();
}

struct Seen {
  std::uint64_t first_left_ns = 0, second_entered_ns = 0;
};

Status measure(sim::RankWorld& me, LockKind kind, Seen& seen) {
  auto started = runtime::assemble(test::foundation_of(me));
  if (!started) return started.status();
  Runtime& g = **started;
  auto locks = g.create_lock_set(1, {.kind = kind});
  if (!locks) return locks.status();
  for (int round = 0; round < 2; ++round) {  // the last one counts: every rank is connected
    GRAPNEL_TRY(hand_over(me, g, *locks, seen.first_left_ns, seen.second_entered_ns));
  }
  GRAPNEL_TRY(g.destroy_lock_set(*locks));
  return g.finish();
}

bool kind_of(const std::string& name, LockKind& kind) {
  for (int value = 1; value <= static_cast<int>(LockKind::reader_writer); ++value) {
    kind = static_cast<LockKind>(value);
    if (name == fmt::format("sim/delay/{}/5ms_delay", to_string(kind))) return true;
  }
  return false;
}

}  // namespace

bool run_lock_row(const std::string& name, int runs) {
  LockKind kind{};
  if (!kind_of(name, kind)) return false;
  std::vector<double> delays_ns;
  for (int seed = 1; seed <= runs; ++seed) {
    sim::WorldOptions options{.ranks = 3, .nodes = 3};
    options.seed(static_cast<std::uint64_t>(seed));
    options.network.delay_ns = kDelay_ns;
    Seen seen;
    std::vector<Status> failures(3);
    const auto outcome =
        sim::run_world(options, [&](sim::RankWorld& me) { failures[index(me.rank)] = measure(me, kind, seen); });
    const bool well =
        outcome.ok() && std::all_of(failures.begin(), failures.end(), [](const Status& s) { return s.ok(); });
    if (!well) {
      fmt::print(stderr, "grapnel-bench-sim: {}, seed {}: {}\n{}", name, seed, failures[0].to_string(), outcome.report);
      return false;
    }
    delays_ns.push_back(static_cast<double>(seen.second_entered_ns - seen.first_left_ns));
  }
  bench::Measurement m{.name = name, .unit = "ms"};
  m.value = bench::median(delays_ns) * 1e-6;
  m.limit = static_cast<double>(kDelay_ns) * 1e-6;
  m.low = bench::percentile(delays_ns, 0.25) * 1e-6;
  m.high = bench::percentile(delays_ns, 0.75) * 1e-6;
  m.runs = runs;
  m.note = "virtual time; the limit is one delay";
  fmt::print("{}\n", bench::to_line(m));
  return true;
}

}  // namespace grapnel
