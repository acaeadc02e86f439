// Would the tests notice a broken window? Each planted bug (window/planted.hpp) is found within 100 seeds of a random
// program and of a counter that all ranks increase, and without one none of 50 seeds fails.
// GRAPNEL_WINDOW_PROGRAMS=n: that many.
// SPDX-License-Identifier: Apache-2.0
#include "window/planted.hpp"

#include <cstdlib>

#include "harness/foundation.hpp"
#include "window/random_programs.hpp"

namespace grapnel::window {
Bug planted_bug = Bug::none;
}  // namespace grapnel::window

namespace grapnel::test {
namespace {

using window::Bug;

constexpr std::uint64_t kMostSeeds = 100, kSeedsWithoutBug = 50;

// All ranks increase a counter of the last rank under its exclusive lock. Ranks of a node hand the lock over without a
// message, while their puts use connections of their own: a lock that is released too early loses a step.
std::string count_under_lock(Runtime& g) {
  constexpr int kSteps = 10;
  const auto window = allocate_words(g, 1, {.lock_kind = LockKind::cohort});
  if (window == nullptr) return "allocate";
  const int home = g.size() - 1;
  bool good = true;
  for (int step = 0; step < kSteps; ++step) {
    std::int64_t value = -1;
    good = good && window->lock(home, false).ok() && window->get(side_of(&value), home, place_at(0)).ok() &&
           window->flush(home).ok();
    ++value;
    good = good && window->put(side_of(&value), home, place_at(0)).ok() && window->unlock(home).ok();
  }
  good = good && g.barrier().ok();
  const std::int64_t wanted = kSteps * g.size();
  const std::int64_t counted = window->my_place() == home ? word_of(*window, home, 0) : wanted;
  if (!windows_of(g).free(*window).ok() || !good) return "a call failed";
  return counted != wanted ? fmt::format("{} steps of {} are in the counter", counted, wanted) : "";
}

std::string failure_of(std::uint64_t seed) {
  constexpr Shape kShapes[] = {{5, 2}, {4, 2}, {3, 3}, {7, 3}, {3, 1}};
  const Shape shape = kShapes[seed % 5];
  sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
  options.seed(seed);
  options.network.jitter_ns = (seed % 3 == 0 ? 40 : 1000) * base::kMicrosecond_ns;
  std::string wrong;
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto started = runtime::assemble(foundation_of(me));
    ASSERT_OK(started.status());
    std::string mine = RandomProgram(**started, seed).play();
    if (const std::string counted = count_under_lock(**started); mine.empty()) mine = counted;
    if (wrong.empty()) wrong = mine;
    static_cast<void>((*started)->finish());
  });
  return outcome.ok() ? wrong : outcome.report;
}

class PlantedBug : public ::testing::TestWithParam<std::pair<const char*, Bug>> {};

TEST_P(PlantedBug, IsFound) {
  window::planted_bug = GetParam().second;
  std::uint64_t seed = 1;
  std::string found;
  while (seed <= kMostSeeds && (found = failure_of(seed)).empty()) ++seed;
  window::planted_bug = Bug::none;
  EXPECT_LE(seed, kMostSeeds) << "no seed finds it";
  RecordProperty("seed", static_cast<int>(seed));
  RecordProperty("found", found.substr(0, 200));
}

INSTANTIATE_TEST_SUITE_P(Window, PlantedBug,
                         ::testing::Values(std::pair{"ForgottenTarget", Bug::forgotten_target},
                                           std::pair{"ReleasedBeforeFence", Bug::released_before_fence},
                                           std::pair{"TwoPlaces", Bug::two_places},
                                           std::pair{"UsedBeforeGranted", Bug::used_before_granted}),
                         [](const auto& test) { return test.param.first; });

TEST(WithoutPlantedBug, NoSeedFails) {
  const char* const given = std::getenv("GRAPNEL_WINDOW_PROGRAMS");
  const std::uint64_t seeds = given != nullptr ? std::strtoull(given, nullptr, 10) : kSeedsWithoutBug;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) EXPECT_EQ(failure_of(seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace grapnel::test
