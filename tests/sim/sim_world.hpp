// A whole job in one process: scheduler, network and launcher put together, and what one rank does given as a function.
//
//   WorldOptions options{.ranks = 5, .nodes = 2};
//   options.seed(17);
//   const os::SimOutcome outcome = run_world(options, [](RankWorld& me) { … });
//   EXPECT_TRUE(outcome.ok()) << outcome.report;
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "launch/inproc.hpp"
#include "os/sim/scheduler.hpp"
#include "transport/sim/sim_network.hpp"

namespace grapnel::sim {

/// A process that ends as by kill -9 at a virtual time.
struct Kill {
  Rank rank;
  std::uint64_t at_ns;
};

struct WorldOptions {
  int ranks = 1;
  int nodes = 1;
  std::size_t pool_bytes = std::size_t{4} << 30;  ///< addresses of a node
  os::SimOptions machine = {};
  transport::sim::NetworkOptions network = {};
  std::vector<Kill> kills = {};

  WorldOptions& seed(std::uint64_t value) {
    machine.seed = network.seed = value;
    return *this;
  }
  WorldOptions& free_running() {
    machine.mode = os::SimMode::free_running;
    return *this;
  }
};

class SimWorld;

/// What a rank's function gets. Everything lives until the function returns.
struct RankWorld {
  Rank rank;
  launch::Launch& launch;
  os::Host& host;
  transport::Transport& transport;
  SimWorld& world;
};

class SimWorld {
 public:
  explicit SimWorld(const WorldOptions& options);
  ~SimWorld();

  /// Runs `body` as every rank's first thread until all have returned, or the world failed. Once.
  os::SimOutcome run(const std::function<void(RankWorld&)>& body);

  /// Ends a rank's process as kill -9 would (free-running: only its connections and its name on the list of the
  /// living). `by` is the host of the caller; does not return when that is the victim's.
  void kill(Rank victim, os::Host& by);

  transport::sim::SimNetwork& network() { return network_; }
  launch::InprocWorld& launcher() { return *launcher_; }
  os::SimScheduler& scheduler() { return *scheduler_; }

 private:
  const WorldOptions options_;
  const std::shared_ptr<os::SimScheduler> scheduler_;
  transport::sim::SimNetwork network_;
  std::unique_ptr<launch::InprocWorld> launcher_;
  std::vector<std::unique_ptr<os::Host>> hosts_;  ///< by rank
  std::unique_ptr<os::Host> fate_;                ///< the process that kills others
};

/// SimWorld(options).run(body).
os::SimOutcome run_world(const WorldOptions& options, const std::function<void(RankWorld&)>& body);

/// The seeds of a random test: 1 … count, or the one that GRAPNEL_TEST_SEED names.
std::vector<std::uint64_t> seeds(int count);

/// Sleeps for that long (virtual, or real when free-running): a rank that computes or sits in a system call.
void pass_time(os::Host& host, std::uint64_t duration_ns);

}  // namespace grapnel::sim
