// Would the tests notice a broken window? Each planted bug (window/planted.hpp, rma/planted.hpp) is found within 100
// seeds of a random program, of a counter that all ranks increase, and of updates beside a rank that holds stripes; and
// without one none of 50 seeds fails.
// GRAPNEL_WINDOW_PROGRAMS=n: that many.
// SPDX-License-Identifier: Apache-2.0
#include "window/planted.hpp"

#include <cstdlib>

#include "harness/foundation.hpp"
#include "rma/planted.hpp"
#include "rma/service.hpp"
#include "window/random_programs.hpp"

namespace grapnel::window {
Bug planted_bug = Bug::none;
}  // namespace grapnel::window
namespace grapnel::rma {
Bug planted_bug = Bug::none;
}  // namespace grapnel::rma

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
    good = good && window->lock(home, false).ok() && window->get(side_of(&value), home, target_at(0)).ok() &&
           window->flush(home).ok();
    ++value;
    good = good && window->put(side_of(&value), home, target_at(0)).ok() && window->unlock(home).ok();
  }
  good = good && g.barrier().ok();
  const std::int64_t wanted = kSteps * g.size();
  const std::int64_t counted = window->my_place() == home ? word_of(*window, home, 0) : wanted;
  if (!windows_of(g).free(*window).ok() || !good) return "a call failed";
  return counted != wanted ? fmt::format("{} steps of {} are in the counter", counted, wanted) : "";
}

// Updates of what lies in two stripes, while the target holds one of them again and again, as a rank does in the middle
// of an update. The last rank replaces a pair and adds to numbers that it fetches, the others read the pair.
class BesideAHolder {
 public:
  BesideAHolder(Runtime& g, std::uint64_t seed) : g_(g), random_(seed * 31 + index(g.rank())) {}

  /// Empty, or what went wrong. Collective.
  std::string run() {
    window_ = allocate_words(g_, 3 * kPageWords);
    if (window_ == nullptr) return "allocate";
    if (me(g_) == kTarget) {
      for (int i = 0; i < kRounds; ++i) hold_a_stripe();
    } else {
      must(window_->lock_all());
      for (int round = 1; round <= kRounds; ++round) me(g_) == g_.size() - 1 ? update(round) : read_pair();
      must(window_->unlock_all());
    }
    if (!windows_of(g_).free(*window_).ok()) must(Outcome(Fault::failed, "free"));
    return wrong_;
  }

 private:
  static constexpr int kTarget = 0, kRounds = 25;
  static constexpr std::size_t kPageWords = rma::Stripes::kStripeBytes / 8;
  static constexpr std::int64_t kPair = kPageWords - 1;  ///< its numbers lie in two stripes
  static constexpr std::size_t kNumbers = 8;
  static constexpr std::int64_t kFirstNumber = 2 * kPageWords - kNumbers / 2;

  static const LayoutPointer& pairs() {
    static const LayoutPointer layout = Layout::element(NumberType::float64_pair);
    return layout;
  }

  void must(const Outcome& outcome) {
    if (!outcome.ok() && wrong_.empty()) wrong_ = outcome.message();
  }
  void pause() { sim::pass_time(*g_.implementation().host, random_.below(40) * base::kMicrosecond_ns); }

  void hold_a_stripe() {
    auto& core = *g_.implementation().core;
    rma::Stripes& stripes = core.service<rma::RmaService>().stripes();
    {
      rma::StripeHolder holder(core.waiting, stripes, stripes.rank_mark());
      const std::size_t page = 1 + random_.below(2);  // behind the pair's first number, behind the first numbers
      EXPECT_OK(holder.hold(reinterpret_cast<std::byte*>(&word_of(*window_, kTarget, page * kPageWords)), 8));
      pause();
    }
    pause();
  }

  void update(int round) {
    const double pair[2] = {static_cast<double>(round), static_cast<double>(round)};
    const std::vector<std::int64_t> ones(kNumbers, 1);
    std::vector<std::int64_t> found(kNumbers, -1);
    must(window_->accumulate(side_of(pair, 1, pairs()), kTarget, target_at(kPair, 1, pairs()), Operation::replace));
    must(window_->get_accumulate(side_of(ones.data(), kNumbers), side_of(found.data(), kNumbers), kTarget,
                                 target_at(kFirstNumber, kNumbers), Operation::sum));
    must(window_->flush(kTarget));
    for (const std::int64_t number : found) {
      if (number != round - 1 && wrong_.empty()) wrong_ = fmt::format("{} was fetched after {}", number, round - 1);
    }
  }

  void read_pair() {
    double pair[2] = {-1, -2};
    must(
        window_->get_accumulate({}, side_of(pair, 1, pairs()), kTarget, target_at(kPair, 1, pairs()), Operation::none));
    must(window_->flush(kTarget));
    if (pair[0] != pair[1] && wrong_.empty()) wrong_ = fmt::format("the pair is {} and {}", pair[0], pair[1]);
    pause();
  }

  Runtime& g_;
  base::Random random_;
  std::shared_ptr<Window> window_;
  std::string wrong_;
};

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
    if (const std::string updated = BesideAHolder(**started, seed).run(); mine.empty()) mine = updated;
    if (wrong.empty()) wrong = mine;
    static_cast<void>((*started)->finish());
  });
  return outcome.ok() ? wrong : outcome.report;
}

struct Planted {
  const char* name;
  Bug bug = Bug::none;
  rma::Bug of_update = rma::Bug::none;
};

class PlantedBug : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, IsFound) {
  window::planted_bug = GetParam().bug;
  rma::planted_bug = GetParam().of_update;
  std::uint64_t seed = 1;
  std::string found;
  while (seed <= kMostSeeds && (found = failure_of(seed)).empty()) ++seed;
  window::planted_bug = Bug::none;
  rma::planted_bug = rma::Bug::none;
  EXPECT_LE(seed, kMostSeeds) << "no seed finds it";
  RecordProperty("seed", static_cast<int>(seed));
  RecordProperty("found", found.substr(0, 200));
}

INSTANTIATE_TEST_SUITE_P(Window, PlantedBug,
                         ::testing::Values(Planted{"ForgottenTarget", Bug::forgotten_target},
                                           Planted{"ReleasedBeforeFence", Bug::released_before_fence},
                                           Planted{"TwoPlaces", Bug::two_places},
                                           Planted{"UsedBeforeGranted", Bug::used_before_granted},
                                           Planted{"FetchFromTheMiddle", Bug::none, rma::Bug::fetch_from_the_middle},
                                           Planted{"TornPair", Bug::none, rma::Bug::torn_pair}),
                         [](const auto& test) { return test.param.name; });

TEST(WithoutPlantedBug, NoSeedFails) {
  const char* const given = std::getenv("GRAPNEL_WINDOW_PROGRAMS");
  const std::uint64_t seeds = given != nullptr ? std::strtoull(given, nullptr, 10) : kSeedsWithoutBug;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) EXPECT_EQ(failure_of(seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace grapnel::test
