// Simulated worlds in which one rank sends what no correct rank sends, and what they reported.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <functional>
#include <string>

#include "base/units.hpp"
#include "harness/foundation.hpp"
#include "progress/forger.hpp"
#include "sync/settings.hpp"

namespace grapnel::test {

inline constexpr const char* kSentence = "no program of this version does";

struct Plan {
  int ranks = 3, nodes = 3;
  sync::BarrierKind barrier = sync::BarrierKind::exchange;
  std::size_t in_flight_bytes = SIZE_MAX;
  std::uint64_t seed = 7;
};

// What the world reported: empty where all went well.
inline std::string report_of(const Plan& plan, const std::function<void(Runtime&)>& body) {
  sim::WorldOptions options{.ranks = plan.ranks, .nodes = plan.nodes};
  options.seed(plan.seed);
  options.network.in_flight_bytes = plan.in_flight_bytes;
  options.machine.deadline_ns = 100 * base::kSecond_ns;
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    foundation.config.change<sync::Settings>().barrier = plan.barrier;
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    EXPECT_OK((*started)->barrier());
    body(**started);
    EXPECT_OK((*started)->finish());
  });
  return outcome.ok() ? std::string() : outcome.report;
}

inline void expect_sentence(const std::string& report, const std::string& about) {
  EXPECT_NE(report.find(kSentence), std::string::npos) << report;
  EXPECT_NE(report.find(about), std::string::npos) << report;
}

/// Of the process, in which all ranks of a simulated world are.
inline std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * 4096;
}

inline std::uint64_t key_of(const Group& group) { return (*Runtime::Implementation::sound(group, "test"))->key; }

/// The turn of this rank's server, with which its handlers may be changed.
inline void with_turn(Forger& forger, const std::function<void()>& act) {
  for (;;) {
    if (progress::Server::Driver driver(*forger.parts().server); driver.has_turn()) return act();
    forger.pass(20 * base::kMicrosecond_ns);
  }
}

inline std::uint64_t refused_at(Runtime& g) { return g.implementation().server->statistics().refused; }

}  // namespace grapnel::test
