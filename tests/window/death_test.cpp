// A rank that dies: every wait of the other ranks ends with peer_dead.
// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "harness/foundation.hpp"
#include "window/opened.hpp"

namespace grapnel::test {
namespace {

constexpr int kVictim = 1;
constexpr std::uint64_t kDies_ns = 200 * base::kMillisecond_ns;

struct Waits {
  const char* name;
  /// What the victim does before it dies, and what the others wait for.
  std::function<Outcome(Window&)> victim, others;
};

Outcome fence(Window& window) { return window.fence(); }
Outcome nothing(Window&) { return {}; }

const std::int64_t number = 1;
std::int64_t found = 0;

const Waits kWaits[] = {
    {"a deferred lock",
     [](Window& window) {
       GRAPNEL_WINDOW_TRY(window.lock(0, false));
       return window.flush(0);
     },
     [](Window& window) {
       if (window.my_place() == 0) return window.lock(0, true);
       GRAPNEL_WINDOW_TRY(window.lock(0, true));
       EXPECT_EQ(window.flush(0).code(), Code::peer_dead);
       return window.unlock(0);  // the wait for its grant has failed already
     }},
    {"a lock of lock_all",
     [](Window& window) {
       GRAPNEL_WINDOW_TRY(window.lock(2, false));
       return window.flush(2);
     },
     [](Window& window) {
       GRAPNEL_WINDOW_TRY(window.lock_all());
       return window.put(side_of(&number), 2, target_at(0));
     }},
    {"a fence", nothing, fence},
    {"a wait", nothing,
     [](Window& window) {
       const int origins[] = {kVictim};
       GRAPNEL_WINDOW_TRY(window.post(origins));
       return window.wait();
     }},
    {"a post, before an operation", nothing,
     [](Window& window) {
       const int targets[] = {kVictim};
       GRAPNEL_WINDOW_TRY(window.start(targets));
       return window.get(side_of(&found), kVictim, target_at(0));
     }},
};

TEST(WindowDeath, EveryWaitEnds) {
  for (const Waits& waits : kWaits) {
    for (const Shape shape : {Shape{3, 1}, Shape{3, 2}, Shape{3, 3}}) {
      SCOPED_TRACE(std::string(waits.name) + ", nodes: " + std::to_string(shape.nodes));
      sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
      options.kills = {{Rank{kVictim}, kDies_ns}};
      std::vector<Outcome> outcomes(3);
      const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
        auto started = runtime::assemble(foundation_of(me));
        ASSERT_OK(started.status());
        Runtime& g = **started;
        const auto window = allocate_words(g, 8);
        ASSERT_NE(window, nullptr);
        if (index(me.rank) == kVictim) {
          EXPECT_DONE(waits.victim(*window));
          EXPECT_OK(g.barrier());
          sim::pass_time(me.host, 10 * base::kSecond_ns);
          return;
        }
        EXPECT_OK(g.barrier());
        EXPECT_LT(me.host.now_ns(), kDies_ns);
        outcomes[index(me.rank)] = waits.others(*window);
        EXPECT_GE(me.host.now_ns(), kDies_ns);
        sim::pass_time(me.host, base::kSecond_ns);
      });
      EXPECT_TRUE(outcome.ok()) << outcome.report;
      for (const std::size_t rank : {0, 2}) {
        EXPECT_EQ(outcomes[rank].fault(), Fault::failed) << rank;
        EXPECT_EQ(outcomes[rank].code(), Code::peer_dead) << outcomes[rank].message();
      }
    }
  }
}

}  // namespace
}  // namespace grapnel::test
