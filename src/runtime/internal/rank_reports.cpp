// SPDX-License-Identifier: Apache-2.0
#include "runtime/internal/rank_reports.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/output.hpp"
#include "base/units.hpp"
#include "locks/lock_set.hpp"
#include "runtime/implementation.hpp"
#include "runtime/internal/signal_reports.hpp"
#include "runtime/settings.hpp"

namespace grapnel::runtime {
namespace {

constexpr std::size_t kMostLocks = 32, kMostNodes = 64, kMostRuns = 256;
// Ranks of a machine that find their waits too long at one time report so far apart: the first report covers the
// others.
constexpr std::uint64_t kApart_ns = 5 * base::kMillisecond_ns;
constexpr std::uint64_t kMostApart = 400;
// A record that is being written is read again.
constexpr int kLooks = 8;
constexpr timespec kBetweenLooks{0, 400'000};

Runs ranks_on_machine(const launch::Launch& launch) {
  const launch::NodeMap& nodes = launch.nodes();
  const std::string& machine = nodes.machine_of[index(launch.node())];
  Runs runs;
  for (std::uint32_t rank = 0; rank < nodes.node_of.size(); ++rank) {
    if (nodes.machine_of[index(nodes.node_of[rank])] != machine) continue;
    if (!runs.empty() && runs.back().second + 1 == rank) {
      runs.back().second = rank;
    } else if (runs.size() < kMostRuns) {
      runs.emplace_back(rank, rank);
    }
  }
  return runs;
}

}  // namespace

RankReports::RankReports(const Runtime::Implementation& runtime)
    : runtime_(runtime), settings_(runtime.config.get<Settings>()), call_since_ns_(runtime.host->now_ns()) {
  use_hooks();
  open_signal_reports(settings_, runtime.launch->status_socket(), index(runtime.launch->rank()));
}

RankReports::~RankReports() {
  close_signal_reports(runtime_.launch->status_socket());
  runtime_.launch->use_status({});
}

void RankReports::ends() {
  call_since_ns_.store(runtime_.host->now_ns());
  call_.store("finish");
  use_hooks();  // returns when no hook reads what ends now
}

void RankReports::use_hooks() {
  launch::StatusHooks hooks;
  hooks.answer = [this](std::optional<std::uint32_t> reporter) {
    if (reporter) covered_until_ns_ = runtime_.host->now_ns();
    if (reporter && *reporter < index(runtime_.launch->rank())) lower_rank_reports_ = true;
    return status().encode();
  };
  hooks.report = [this] { report(false); };
  if (settings_.watchdog_s > 0) hooks.look = [this] { return look_for_a_long_wait(); };
  runtime_.launch->use_status(std::move(hooks));
}

RankStatus RankReports::status() const {
  const launch::Launch& launch = *runtime_.launch;
  RankStatus mine;
  mine.rank = static_cast<std::uint32_t>(index(launch.rank()));
  mine.size = static_cast<std::uint32_t>(launch.size());
  mine.node = static_cast<std::uint32_t>(index(launch.node()));
  mine.nodes = static_cast<std::uint32_t>(launch.nodes().node_count());
  mine.process = ::getpid();
  const std::string& machine = launch.nodes().machine_of[index(launch.node())];
  mine.host = machine.substr(0, machine.find('/'));
  mine.on_machine = ranks_on_machine(launch);
  if (const char* call = call_.load(); call != nullptr) {
    mine.waiting_threads = 1;
    mine.kind = static_cast<std::uint8_t>(progress::WaitKind::fence_of_launcher);
    mine.call = call;
    mine.waited_ns = runtime_.host->now_ns() - call_since_ns_.load();
    return mine;
  }
  add_wait(mine);
  add_layers(mine);
  return mine;
}

void RankReports::add_wait(RankStatus& mine) const {
  std::vector<progress::WaitReport> waits;
  for (int look = 0; look < kLooks; ++look) {
    bool being_written = false;
    waits = runtime_.waiting->records().read(being_written);
    if (!being_written) break;
    ::nanosleep(&kBetweenLooks, nullptr);
  }
  mine.waiting_threads = static_cast<std::uint32_t>(waits.size());
  if (waits.empty()) return;
  const progress::WaitReport& longest = waits.front();
  mine.kind = static_cast<std::uint8_t>(longest.kind);
  if (longest.call != nullptr) mine.call = longest.call;
  std::copy(longest.what.begin(), longest.what.end(), mine.what);
  mine.members = longest.members;
  mine.more_members = longest.more_members;
  const std::uint64_t now_ns = runtime_.host->now_ns();
  mine.waited_ns = now_ns > longest.since_ns ? now_ns - longest.since_ns : 0;
}

void RankReports::add_layers(RankStatus& mine) const {
  std::size_t more = 0;
  for (const locks::HeldLock& lock : runtime_.locks->held(kMostLocks, more)) {
    mine.held.push_back({lock.set, lock.index, lock.home, lock.shared});
  }
  mine.more_held = more;
  if (runtime_.client) {
    const std::vector<std::uint64_t> requests = runtime_.client->outstanding();
    for (std::size_t node = 0; node < requests.size() && mine.outstanding.size() < kMostNodes; ++node) {
      if (requests[node] > 0) mine.outstanding.push_back({static_cast<std::uint32_t>(node), requests[node]});
    }
  }
  if (const progress::Server* server = runtime_.server.get(); server != nullptr) {
    const progress::Server::Statistics statistics = server->statistics();
    mine.has_server = true;
    mine.server_asleep = server->is_asleep();
    mine.handled = statistics.handled;
    mine.refused = statistics.refused;
    mine.parked = server->parked_now();
  }
}

// One report covers every wait that has begun by then, in all ranks of this machine.
int RankReports::look_for_a_long_wait() {
  const std::uint64_t limit_ns = settings_.watchdog_s * base::kSecond_ns;
  const int pause_ms = static_cast<int>(std::clamp<std::uint64_t>(settings_.watchdog_s * 1000 / 10, 50, 1000));
  const RankStatus mine = status();
  const std::uint64_t now_ns = runtime_.host->now_ns();
  const std::uint64_t since_ns = now_ns - mine.waited_ns;
  if (mine.waiting_threads == 0 || mine.waited_ns < limit_ns || since_ns <= covered_until_ns_) {
    report_at_ns_ = 0;
    return pause_ms;
  }
  if (report_at_ns_ == 0) {
    std::uint64_t place = 0;
    for (const auto& [first, last] : mine.on_machine) {
      if (first < mine.rank) place += std::min(last + 1, mine.rank) - first;
    }
    report_at_ns_ = now_ns + std::min(place, kMostApart) * kApart_ns;
  }
  if (now_ns < report_at_ns_) return static_cast<int>((report_at_ns_ - now_ns) / base::kMillisecond_ns + 1);
  report_at_ns_ = 0;
  report(true);
  return pause_ms;
}

void RankReports::report(bool cover) {
  const auto all = rank_processes();
  if (!all) return;
  std::vector<RankProcess> ours;
  for (const RankProcess& one : *all) {
    if (one.job == runtime_.launch->status_name()) ours.push_back(one);
  }
  const auto rank = static_cast<std::uint32_t>(index(runtime_.launch->rank()));
  lower_rank_reports_ = false;
  // This thread is the one that answers for this rank.
  const Answers answers =
      ask(ours, cover ? std::optional(rank) : std::nullopt, [this] { runtime_.launch->serve_status(); });
  // Of two that report at one time the lower rank prints. The other one's request has come by now: it was sent before
  // that one answered this rank.
  runtime_.launch->serve_status();
  if (cover && lower_rank_reports_) return;
  const std::string why = cover ? fmt::format("rank {} has waited for more than {} s", rank, settings_.watchdog_s)
                                : fmt::format("rank {} was asked by a signal", rank);
  (void)base::write_all(STDERR_FILENO, fmt::format("{}grapnel: {}; {}", base::log_stamp(), why, describe(answers)));
}

}  // namespace grapnel::runtime
