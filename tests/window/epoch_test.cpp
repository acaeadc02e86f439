// Every call in every state: legal or not, and the state afterwards. The table is the one of docs/window.md.
// SPDX-License-Identifier: Apache-2.0
#include "window/epoch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace grapnel::window {
namespace {

constexpr int kMembers = 4;
constexpr int kChosen = 1;  ///< the target of start and lock; 2 is another one

struct State {
  const char* name;
  std::function<void(EpochState&)> reach;
};

const std::vector<State> kAccess{
    {"none", [](EpochState&) {}},
    {"fence", [](EpochState& s) { EXPECT_TRUE(s.fence({}).ok()); }},
    {"used",
     [](EpochState& s) {
       EXPECT_TRUE(s.fence({}).ok());
       EXPECT_TRUE(s.operation("put", 3).ok());
     }},
    {"start",
     [](EpochState& s) {
       const int places[] = {kChosen};
       EXPECT_TRUE(s.start(places).ok());
     }},
    {"lock", [](EpochState& s) { EXPECT_TRUE(s.lock(kChosen, false).ok()); }},
    {"shared", [](EpochState& s) { EXPECT_TRUE(s.lock(kChosen, true).ok()); }},
    {"two",
     [](EpochState& s) {
       EXPECT_TRUE(s.lock(kChosen, false).ok());
       EXPECT_TRUE(s.lock(3, true).ok());
     }},
    {"lock_all", [](EpochState& s) { EXPECT_TRUE(s.lock_all().ok()); }},
};

struct Call {
  const char* name;
  std::function<Outcome(EpochState&)> make;
  /// The access states in which it is legal when not exposed, and when exposed, each with the state afterwards.
  std::vector<std::pair<std::string, std::string>> unexposed, exposed;
  bool exposes = false, ends_exposure = false;
};

using Rows = std::vector<std::pair<std::string, std::string>>;

const Rows kEverywhere{{"none", "none"}, {"fence", "fence"},   {"used", "used"}, {"start", "start"},
                       {"lock", "lock"}, {"shared", "shared"}, {"two", "two"},   {"lock_all", "lock_all"}};
const Rows kToChosen{{"fence", "used"},    {"used", "used"}, {"start", "start"},      {"lock", "lock"},
                     {"shared", "shared"}, {"two", "two"},   {"lock_all", "lock_all"}};
const Rows kToOther{{"fence", "used"}, {"used", "used"}, {"lock_all", "lock_all"}};
const Rows kPassive{{"lock", "lock"}, {"shared", "shared"}, {"two", "two"}, {"lock_all", "lock_all"}};
const Rows kFence{{"none", "fence"}, {"fence", "fence"}, {"used", "fence"}};
const Rows kLastFence{{"none", "none"}, {"fence", "none"}, {"used", "none"}};
const Rows kStart{{"none", "start"}, {"fence", "start"}};
const Rows kComplete{{"start", "none"}};
const Rows kLockChosen{{"none", "lock"}, {"fence", "lock"}};
const Rows kLockOther{
    {"none", "other"}, {"fence", "other"}, {"lock", "lock+2"}, {"shared", "shared+2"}, {"two", "two+2"}};
const Rows kUnlockChosen{{"lock", "none"}, {"shared", "none"}, {"two", "lock 3"}};
const Rows kUnlockAll{{"lock_all", "none"}};
const Rows kLockAll{{"none", "lock_all"}, {"fence", "lock_all"}};
const Rows kFree{{"none", "none"}, {"fence", "fence"}};

std::vector<Call> calls() {
  const auto target = [](const char* name, auto member, int place, const Rows& rows) {
    return Call{name, [=](EpochState& s) { return (s.*member)("call", place); }, rows, rows};
  };
  using OneTarget = Outcome (EpochState::*)(const char*, int) const;
  using AllTargets = Outcome (EpochState::*)(const char*) const;
  const auto passive_one = static_cast<OneTarget>(&EpochState::passive);
  const auto passive_all = static_cast<AllTargets>(&EpochState::passive);
  return {
      target("operation", &EpochState::operation, kChosen, kToChosen),
      target("operation to another", &EpochState::operation, 2, kToOther),
      target("request or flush", passive_one, kChosen, kPassive),
      target("request or flush of another", passive_one, 2, {{"lock_all", "lock_all"}}),
      {"flush_all or sync", [=](EpochState& s) { return (s.*passive_all)("call"); }, kPassive, kPassive},
      {"fence", [](EpochState& s) { return s.fence({}); }, kFence, {}},
      {"fence no_precede", [](EpochState& s) { return s.fence({.no_precede = true}); }, kFence, {}},
      {"fence no_succeed", [](EpochState& s) { return s.fence({.no_succeed = true}); }, kLastFence, {}},
      {"start",
       [](EpochState& s) {
         const int places[] = {kChosen};
         return s.start(places);
       },
       kStart, kStart},
      {"complete", [](EpochState& s) { return s.complete(); }, kComplete, kComplete},
      {"post", [](EpochState& s) { return s.post(); }, kEverywhere, {}, true},
      {"end_exposure", [](EpochState& s) { return s.end_exposure(); }, {}, kEverywhere, false, true},
      {"test", [](EpochState& s) { return s.exposed("test"); }, {}, kEverywhere},
      {"lock", [](EpochState& s) { return s.lock(kChosen, false); }, kLockChosen, kLockChosen},
      {"lock of another", [](EpochState& s) { return s.lock(2, true); }, kLockOther, kLockOther},
      {"unlock", [](EpochState& s) { return s.unlock(kChosen); }, kUnlockChosen, kUnlockChosen},
      {"unlock of another", [](EpochState& s) { return s.unlock(2); }, {}, {}},
      {"lock_all", [](EpochState& s) { return s.lock_all(); }, kLockAll, kLockAll},
      {"unlock_all", [](EpochState& s) { return s.unlock_all(); }, kUnlockAll, kUnlockAll},
      {"free", [](EpochState& s) { return s.free(); }, kFree, {}},
  };
}

/// What can be seen of a state.
std::string describe(const EpochState& s) {
  std::string text = to_string(s.epoch());
  if (s.is_fence_used()) text += ", used";
  for (int place = 0; place < kMembers; ++place) {
    if (s.is_locked(place)) text += (s.is_shared(place) ? ", shared " : ", locked ") + std::to_string(place);
  }
  return text + (s.is_exposed() ? ", exposed" : "");
}

std::string description_of(const std::string& state, bool exposed) {
  static const std::vector<std::pair<std::string, std::string>> texts{
      {"none", "no epoch"},
      {"fence", "a fence epoch"},
      {"used", "a fence epoch, used"},
      {"start", "an epoch of start"},
      {"lock", "a lock epoch, locked 1"},
      {"shared", "a lock epoch, shared 1"},
      {"two", "a lock epoch, locked 1, shared 3"},
      {"other", "a lock epoch, shared 2"},
      {"lock+2", "a lock epoch, locked 1, shared 2"},
      {"shared+2", "a lock epoch, shared 1, shared 2"},
      {"two+2", "a lock epoch, locked 1, shared 2, shared 3"},
      {"lock 3", "a lock epoch, shared 3"},
      {"lock_all", "an epoch of lock_all"}};
  for (const auto& [name, text] : texts) {
    if (name == state) return text + (exposed ? ", exposed" : "");
  }
  return "no such state: " + state;
}

TEST(Epochs, EveryCallInEveryState) {
  int legal = 0, illegal = 0;
  for (const Call& call : calls()) {
    for (const bool exposed : {false, true}) {
      for (const State& from : kAccess) {
        SCOPED_TRACE(std::string(call.name) + " in " + from.name + (exposed ? ", exposed" : ""));
        EpochState state(kMembers);
        from.reach(state);
        if (exposed) {
          ASSERT_TRUE(state.post().ok());
        }
        ASSERT_EQ(describe(state), description_of(from.name, exposed));
        const Rows& rows = exposed ? call.exposed : call.unexposed;
        const auto row =
            std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.first == from.name; });
        const Outcome outcome = call.make(state);
        const bool is_legal = row != rows.end();
        ++(is_legal ? legal : illegal);
        EXPECT_EQ(outcome.fault(), is_legal ? Fault::none : Fault::synchronization) << outcome.message();
        const bool exposed_after = is_legal ? (exposed || call.exposes) && !call.ends_exposure : exposed;
        EXPECT_EQ(describe(state), description_of(is_legal ? row->second : from.name, exposed_after));
        const bool names_state = is_legal || outcome.message().find("target 1 is locked") != std::string::npos ||
                                 outcome.message().find("window is in") != std::string::npos;
        EXPECT_TRUE(names_state) << outcome.message();
      }
    }
  }
  EXPECT_EQ(legal + illegal, 20 * 2 * 8);
  EXPECT_GT(legal, 80);
}

// Targets of an epoch that is over are none of the next one's.
TEST(Epochs, TheNextEpochStartsAfresh) {
  EpochState state(kMembers);
  const int first[] = {0, 1}, second[] = {2};
  ASSERT_TRUE(state.start(first).ok());
  ASSERT_TRUE(state.complete().ok());
  ASSERT_TRUE(state.start(second).ok());
  EXPECT_FALSE(state.operation("put", 0).ok());
  EXPECT_TRUE(state.operation("put", 2).ok());
  ASSERT_TRUE(state.complete().ok());
  EXPECT_FALSE(state.operation("put", 2).ok());
  ASSERT_TRUE(state.lock(3, true).ok());
  ASSERT_TRUE(state.unlock(3).ok());
  ASSERT_TRUE(state.lock(3, false).ok());
  EXPECT_FALSE(state.is_shared(3));
  EXPECT_EQ(state.unlock(2).message(), "unlock: the window is in a lock epoch, and target 2 is not locked");
}

TEST(Epochs, AnEmptyStartIsAnEpoch) {
  EpochState state(kMembers);
  ASSERT_TRUE(state.start({}).ok());
  EXPECT_FALSE(state.operation("get", 0).ok());
  EXPECT_FALSE(state.lock_all().ok());
  EXPECT_TRUE(state.complete().ok());
}

}  // namespace
}  // namespace grapnel::window
