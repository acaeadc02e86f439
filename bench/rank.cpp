// SPDX-License-Identifier: Apache-2.0
#include "rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "binding.hpp"
#include "limits/raw_ucx.h"
#include "pairs.hpp"
#include "scenarios/dse_work.hpp"
#include "scenarios/dsm_work.hpp"
#include "scenarios/heap_costs.hpp"
#include "scenarios/lock_metrics.hpp"
#include "scenarios/shared_work.hpp"
#include "scenarios/sync_work.hpp"

namespace grapnel::bench {
namespace {

constexpr std::size_t kRawSegmentBytes = 72 * 1024;  // as transport/ucx chooses

// ---- what followers do ----

double compute(double x) {
  for (int i = 0; i < 2000; ++i) x = x * 1.0000001 + 1e-9;
  return x;
}

void compute_until_next(const SharedPage& board, std::uint32_t seen) {
  volatile double x = 1;
  while (board.is_current(seen)) x = compute(1 + x * 1e-9);
}

// About 50 ms.
std::uint64_t work_ns() {
  volatile double x = 1;
  const std::uint64_t begin_ns = now_ns();
  for (int i = 0; i < 8000; ++i) x = compute(1 + x * 1e-9);
  return now_ns() - begin_ns;
}

void follow(Session& s, const JobKind& kind) {
  std::uint32_t seen = 0;
  for (;;) {
    switch (s.board.next(seen)) {
      case Command::rest: s.board.done(seen, 0); break;
      case Command::compute:
        s.board.done(seen, 0);
        compute_until_next(s.board, seen);
        break;
      case Command::work: s.board.done(seen, work_ns()); break;
      case Command::cpu_time: s.board.done(seen, processor_time_ns()); break;
      case Command::share: {
        const std::uint64_t time_ns = kind.share(s);
        if (index(s.g.rank()) == 0) s.board.done(seen, time_ns);
        break;
      }
      case Command::quit: return;
    }
  }
}

// ---- what rank 0 does ----

void measure(Session& s, const JobKind& kind, const std::string& filter) {
  for (const Task& task : kind.tasks) {
    if (task.name.find(filter) == std::string::npos) continue;
    Measurement measured = task.measure(s);
    measured.name = task.name;
    fmt::print("{}\n", to_line(measured));
    std::fflush(stdout);
  }
  s.board.issue(Command::quit);
}

// ---- UCX by itself, beside the runtime: rank 1 serves, rank 0 asks ----

void open_raw(Session& s) {
  BoardPage& page = s.board.page();
  const bool serves = s.g.rank() == Session::kTarget;
  for (std::uint32_t i = 0; i < 2; ++i) {
    s.raw[i] = raw_ucx_open(i == 0 ? 0 : kRawSegmentBytes);
    if (!serves) continue;
    raw_ucx_address(s.raw[i], page.raw_address[i], BoardPage::kAddressBytes);
    raw_ucx_serve(s.raw[i], i + 1, &page.raw_phase, &page.raw_awake);
  }
  must(s.g.barrier());
  for (std::uint32_t i = 0; i < 2 && !serves; ++i) raw_ucx_connect(s.raw[i], page.raw_address[i]);
}

void close_raw(Session& s) {
  const bool serves = s.g.rank() == Session::kTarget;
  for (std::uint32_t i = 0; i < 2 && !serves; ++i) {
    s.board.raw_phase(i + 1);
    raw_ucx_close(s.raw[i]);
  }
  if (!serves) s.board.end_raw();
  for (std::uint32_t i = 0; i < 2 && serves; ++i) raw_ucx_close(s.raw[i]);
}

std::vector<Task> joined(std::vector<Task> one, std::vector<Task> other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

}  // namespace

const std::vector<JobKind>& job_kinds() {
  constexpr std::size_t kMiB = 1 << 20;
  // A connection has a rate of its own for as long as it lives (docs/transport.md, BBR), ours and the bare one each.
  constexpr int kStreamRounds = 7;
  // A row of nanoseconds takes milliseconds, and a rank that shares the core with this machine stays for seconds.
  constexpr int kNearRounds = 15;
  static const std::vector<JobKind> kinds = {
      {"same_node", 2, 1, 12 * kMiB, false, joined(same_node_tasks(), near_bandwidth_tasks()), do_share, false,
       kNearRounds},
      {"same_node_far", 2, 1, 12 * kMiB, false, far_bandwidth_tasks()},
      {"two_nodes", 2, 2, 2 * kMiB, true, two_nodes_tasks()},
      {"two_nodes_stream", 2, 2, 2 * kMiB, true, two_nodes_stream_tasks(), do_share, false, kStreamRounds},
      {"busy_target", 2, 2, kMiB, false, busy_target_tasks()},
      {"share_2", 2, 2, kMiB, false, {}},
      {"share_8", 8, 4, kMiB, false, {}},
      {"sync_2", 2, 2, kMiB, false, {}, do_sync_work},
      {"sync_4", 4, 4, kMiB, false, {}, do_sync_work},
      {"sync_8", 8, 8, kMiB, false, {}, do_sync_work},
      {"sync_same_2", 2, 1, kMiB, false, {}, do_sync_work},
      {"sync_same_4", 4, 1, kMiB, false, {}, do_sync_work},
      {"locks_same", 4, 1, kMiB, false, {}, do_lock_metrics},
      {"locks_2", 2, 2, kMiB, false, {}, do_lock_metrics},
      {"locks_3", 3, 3, kMiB, false, {}, do_lock_metrics},
      {"locks_8", 8, 8, kMiB, false, {}, do_lock_metrics},
      {"locks_bound_2", 2, 2, kMiB, false, {}, do_lock_metrics, true},
      {"locks_bound_4", 4, 2, kMiB, false, {}, do_lock_metrics, true},
      {"dsm_one_node", 2, 1, kMiB, false, {}, do_dsm_work},
      {"dsm_2", 2, 2, kMiB, false, {}, do_dsm_work},
      {"dsm_2_raw", 2, 2, kMiB, true, {}, do_dsm_work},
      {"dsm_4", 4, 4, kMiB, false, {}, do_dsm_work},
      {"dse_2", 2, 2, kMiB, false, {}, do_dse_work},
      {"dse_3", 3, 3, kMiB, false, {}, do_dse_work},
      {"dse_4", 4, 4, kMiB, false, {}, do_dse_work},
      {"dse_5", 5, 5, kMiB, false, {}, do_dse_work},
      {"dse_6", 6, 6, kMiB, false, {}, do_dse_work},
      {"dse_7", 7, 7, kMiB, false, {}, do_dse_work},
      {"dse_8", 8, 8, kMiB, false, {}, do_dse_work},
      {"heap_2", 2, 2, kMiB, false, {}, do_heap_work},
      {"heap_4", 4, 4, kMiB, false, {}, do_heap_work},
      {"heap_8", 8, 8, kMiB, false, {}, do_heap_work}};
  return kinds;
}

const JobKind& job_kind(const std::string& name) {
  for (const JobKind& kind : job_kinds()) {
    if (kind.name == name) return kind;
  }
  fail(Status(Code::invalid_argument, fmt::format("no job is named {}", name)));
}

int run_rank(const RankOptions& options) {
  const JobKind& kind = job_kind(options.job);
  // Its rows stand beside bare UCX on the same wire. A user's choice wins.
  if (kind.raw_ucx) ::setenv("GRAPNEL_TRANSPORT", "ucx", 0);
  auto started = Runtime::start();
  if (!started) fail(started.status());
  Runtime& g = **started;
  if (g.size() != kind.ranks || g.node_count() != kind.nodes) {
    fail(Status(Code::invalid_argument, fmt::format("{} needs {} ranks on {} nodes and has {} on {}", kind.name,
                                                    kind.ranks, kind.nodes, g.size(), g.node_count())));
  }
  auto memory = g.allocate(kind.memory_bytes);
  if (!memory) fail(memory.status());
  SharedPage board = SharedPage::open(options.board);
  Session session{.g = g, .board = board, .memory = *memory, .effort = options.effort};
  if (kind.raw_ucx) open_raw(session);
  must(g.barrier());
  if (kind.bound) bind_to_processor(index(g.node()));
  const bool conducts = index(g.rank()) == 0 && !kind.tasks.empty();
  if (index(g.rank()) == 0) board.announce_joined();
  if (conducts) {
    measure(session, kind, options.filter);
  } else {
    follow(session, kind);
  }
  if (kind.raw_ucx) close_raw(session);
  session.heap.reset();
  must(g.finish());
  return 0;
}

}  // namespace grapnel::bench
