// The conformance suite of all transports over the simulated network: calm, misbehaving under several seeds, with
// native operations, and free-running.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "sim/sim_world.hpp"
#include "transport/conformance.hpp"

namespace grapnel::testing {
namespace {

// The collective of the living peers, on words, so that it works in virtual and in real time.
class Meeting {
 public:
  explicit Meeting(int count) : given_(static_cast<std::size_t>(count)), alive_(given_.size(), true) {}

  std::vector<Bytes> exchange(std::size_t me, const Bytes& mine, os::Host& host) {
    std::uint32_t seen = 0;
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      seen = rounds_.load();
      given_[me] = mine;
      last = end_round_if_all_came();
    }
    if (last) host.wake(rounds_);
    while (rounds_.load() == seen) host.wait(rounds_, seen, 250 * base::kMillisecond_ns);
    const std::lock_guard lock(mutex_);
    return results_;  // the next round cannot end before this peer came to it
  }

  void leave(std::size_t me, os::Host& host) {
    {
      const std::lock_guard lock(mutex_);
      alive_[me] = false;
      end_round_if_all_came();
    }
    host.wake(rounds_);
  }

 private:
  bool end_round_if_all_came() {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (alive_[i] && !given_[i]) return false;
    }
    results_.clear();
    for (auto& given : given_) results_.push_back(std::exchange(given, std::nullopt).value_or(Bytes{}));
    rounds_.fetch_add(1);
    return true;
  }

  std::mutex mutex_;
  std::vector<std::optional<Bytes>> given_;
  std::vector<bool> alive_;
  std::vector<Bytes> results_;
  os::Word rounds_{0};
};

class SimPeer final : public Peer {
 public:
  SimPeer(sim::RankWorld& me, Meeting& meeting) : me_(me), meeting_(meeting) {}
  int index() const override { return static_cast<int>(me_.rank); }
  int count() const override { return me_.launch.size(); }
  transport::Transport& transport() override { return me_.transport; }
  os::Host& host() override { return me_.host; }
  std::vector<Bytes> exchange(const Bytes& mine) override {
    return meeting_.exchange(grapnel::index(me_.rank), mine, me_.host);
  }
  void die() override {
    meeting_.leave(grapnel::index(me_.rank), me_.host);
    me_.world.kill(me_.rank, me_.host);
  }

 private:
  sim::RankWorld& me_;
  Meeting& meeting_;
};

class SimPeers final : public PeerGroup {
 public:
  explicit SimPeers(sim::WorldOptions options) : options_(std::move(options)) {}

  void run(int count, const Body& body) override {
    options_.ranks = options_.nodes = count;
    Meeting meeting(count);
    const auto outcome = sim::run_world(options_, [&](sim::RankWorld& me) {
      SimPeer peer(me, meeting);
      body(peer);
    });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
  }
  // Real threads cannot be stopped from outside.
  bool peers_can_die() const override { return options_.machine.mode == os::SimMode::seeded; }

 private:
  sim::WorldOptions options_;
};

sim::WorldOptions misbehaving(std::uint64_t seed, bool native) {
  sim::WorldOptions options;
  options.machine.stall_probability = 0.001;
  options.network = {.jitter_ns = 20 * base::kMicrosecond_ns,
                     .reorder_probability = 0.1,
                     .stall_probability = 0.01,
                     .worker_stall_probability = 0.01,
                     .pending_probability = 0.3,
                     .in_flight_bytes = 300'000,
                     .native_put = native,
                     .native_get = native,
                     .native_atomics = native};
  return options.seed(seed);
}

PeerGroupFactory group(const sim::WorldOptions& options) {
  return [options] { return std::make_unique<SimPeers>(options); };
}

INSTANTIATE_TEST_SUITE_P(Calm, TransportConformance, ::testing::Values(group({})));
INSTANTIATE_TEST_SUITE_P(Misbehaving, TransportConformance,
                         ::testing::Values(group(misbehaving(1, false)), group(misbehaving(2, true)),
                                           group(misbehaving(3, true))));
INSTANTIATE_TEST_SUITE_P(FreeRunning, TransportConformance,
                         ::testing::Values(group(misbehaving(4, true).free_running())));

}  // namespace
}  // namespace grapnel::testing
