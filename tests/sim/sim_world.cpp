// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_world.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "sim/lock_hooks.hpp"

namespace grapnel::sim {
namespace {

std::unique_ptr<launch::InprocWorld> make_launcher(const WorldOptions& options, os::SimScheduler& scheduler) {
  launch::InprocOptions launch_options{.ranks = options.ranks, .nodes = options.nodes};
  launch_options.pool_bytes = options.pool_bytes;
  launch_options.job_secret = base::Random(options.machine.seed).next();
  if (options.machine.mode == os::SimMode::seeded) {
    launch_options.on_abort = [&scheduler](Rank rank, int exit_code, const std::string& why) {
      scheduler.end_world(fmt::format("rank {} aborts the job (exit code {}): {}", index(rank), exit_code, why));
    };
  }
  auto launcher = launch::InprocWorld::create(launch_options);
  GRAPNEL_CHECK(launcher.ok(), "{}", launcher.status().to_string());
  return *std::move(launcher);
}

std::unique_ptr<os::Thread> start(os::Host& host, const std::string& name, std::function<void()> body) {
  auto thread = host.start(name, {}, std::move(body));
  GRAPNEL_CHECK(thread.ok(), "{}", thread.status().to_string());
  return *std::move(thread);
}

}  // namespace

SimWorld::SimWorld(const WorldOptions& options)
    : options_(options),
      scheduler_(os::SimScheduler::create(options.machine)),
      network_(options.network),
      launcher_(make_launcher(options, *scheduler_)) {
  link_lock_hooks();
  for (int rank = 0; rank < options.ranks; ++rank) hosts_.push_back(scheduler_->make_host(fmt::format("rank{}", rank)));
  fate_ = scheduler_->make_host("fate");
}

SimWorld::~SimWorld() = default;

os::SimOutcome SimWorld::run(const std::function<void(RankWorld&)>& body) {
  std::vector<std::unique_ptr<os::Thread>> threads;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    threads.push_back(start(*hosts_[i], "main", [this, &body, i] {
      const auto rank = static_cast<Rank>(i);
      os::Host& host = *hosts_[i];
      const auto launch = launcher_->join(rank, host);
      const auto transport = network_.make_transport(rank, host);
      RankWorld me{rank, *launch, host, *transport, *this};
      body(me);
    }));
  }
  for (const Kill& planned : options_.kills) {
    threads.push_back(start(*fate_, "kill", [this, planned] {
      pass_time(*fate_, planned.at_ns);
      kill(planned.rank, *fate_);
    }));
  }
  os::SimOutcome outcome = scheduler_->run();
  threads.clear();
  if (!outcome.ok()) outcome.report += fmt::format("  replay: GRAPNEL_TEST_SEED={}\n", outcome.seed);
  return outcome;
}

void SimWorld::kill(Rank victim, os::Host& by) {
  os::Host& host = *hosts_[index(victim)];
  const bool itself = &host == &by;
  if (!itself) scheduler_->stop_process(host);
  network_.kill(victim, by);
  launcher_->kill(victim);
  if (itself) scheduler_->stop_process(host);
}

os::SimOutcome run_world(const WorldOptions& options, const std::function<void(RankWorld&)>& body) {
  return SimWorld(options).run(body);
}

std::vector<std::uint64_t> seeds(int count) {
  if (const char* only = std::getenv("GRAPNEL_TEST_SEED"); only != nullptr) return {std::strtoull(only, nullptr, 0)};
  std::vector<std::uint64_t> all;
  for (int seed = 1; seed <= count; ++seed) all.push_back(static_cast<std::uint64_t>(seed));
  return all;
}

void pass_time(os::Host& host, std::uint64_t duration_ns) {
  os::Word nobody_wakes{0};
  std::uint64_t now_ns = host.now_ns();
  const std::uint64_t end_ns = now_ns + duration_ns;
  while (now_ns < end_ns) {
    host.wait(nobody_wakes, 0, end_ns - now_ns);
    now_ns = host.now_ns();
  }
}

}  // namespace grapnel::sim
