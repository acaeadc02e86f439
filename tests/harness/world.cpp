// SPDX-License-Identifier: Apache-2.0
#include "harness/world.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "harness/foundation.hpp"
#include "harness/shared_jobs.hpp"
#include "progress/settings.hpp"
#include "rma/settings.hpp"
#include "sync/settings.hpp"

namespace grapnel::test {
namespace {

std::vector<WorldTest>& tests() {
  static std::vector<WorldTest> all;  // filled before main by WORLD_TEST
  return all;
}

thread_local std::uint64_t seed_of_this_world = 1;
thread_local bool virtual_time = false;
thread_local bool page_tables = true;

bool wants_world(const std::string& world) {
  const char* chosen = std::getenv("GRAPNEL_TEST_WORLDS");
  if (chosen == nullptr) return true;
  std::istringstream list(chosen);
  for (std::string one; std::getline(list, one, ',');) {
    if (one == world) return true;
  }
  return false;
}

int seeds_per_shape() {
  const char* text = std::getenv("GRAPNEL_TEST_SEEDS");
  return text != nullptr ? std::atoi(text) : 5;
}

// ---- threads of this process ----

// Every algorithm gets its turn: over the shapes of a test, as there are fewer seeds of each. The same in all ranks.
void choose_algorithms(base::Config& config, Shape shape, std::uint64_t seed) {
  using sync::BarrierKind;
  constexpr BarrierKind kBarriers[] = {BarrierKind::automatic, BarrierKind::exchange, BarrierKind::clean,
                                       BarrierKind::direct,    BarrierKind::few,      BarrierKind::serial,
                                       BarrierKind::gather};
  const auto turn = seed + static_cast<std::uint64_t>(shape.ranks + shape.nodes);
  config.change<sync::Settings>().barrier = kBarriers[turn % std::size(kBarriers)];
  config.change<rma::Settings>().fence = turn % 3 == 0 ? rma::FenceKind::serial : rma::FenceKind::overlapped;
  config.change<rma::Settings>().fence_window = turn % 3 == 1 ? 1 : 16;
  config.change<sync::Settings>().barrier_fanout = seed % 4 == 3 ? 3 : 2;
  // Never poll: a simulated second would be millions of looks.
  config.change<progress::Settings>().mode =
      turn % 2 == 0 ? progress::ProgressMode::adaptive : progress::ProgressMode::event;
}

void run_rank(const WorldTest& test, sim::RankWorld& me, std::uint64_t seed,
              base::Config config = base::Config(runtime::settings_groups())) {
  SCOPED_TRACE(fmt::format("rank {} of {} on {} nodes, seed {}", index(me.rank), me.launch.size(),
                           me.launch.nodes().node_count(), seed));
  base::log_set_identity(std::to_string(index(me.rank)));
  seed_of_this_world = seed;
  page_tables = false;
  auto foundation = foundation_of(me);
  foundation.config = without_watch(std::move(config));
  auto started = runtime::assemble(std::move(foundation));
  ASSERT_TRUE(started.ok()) << started.status().to_string();
  test.body(**started);
  EXPECT_OK((*started)->finish());
}

sim::WorldOptions misbehaving(Shape shape, std::uint64_t seed) {
  sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
  options.seed(seed);
  base::Random random(seed);
  options.network.delay_ns = random.between(1, 20) * base::kMicrosecond_ns;
  options.network.jitter_ns = random.below(50) * base::kMicrosecond_ns;
  options.network.reorder_probability = random.chance(0.5) ? 0.1 : 0;
  options.network.pending_probability = random.chance(0.5) ? 0.2 : 0;
  options.network.stall_probability = random.chance(0.3) ? 0.02 : 0;
  if (random.chance(0.5)) options.network.in_flight_bytes = 64 * 1024;
  options.network.native_put = options.network.native_get = random.chance(0.5);
  options.network.native_atomics = options.network.native_put;
  return options;
}

void run_in_sim(const WorldTest& test, Shape shape) {
  for (const std::uint64_t seed : sim::seeds(seeds_per_shape())) {
    base::Config config(runtime::settings_groups());
    choose_algorithms(config, shape, seed);
    const auto outcome = sim::run_world(misbehaving(shape, seed), [&](sim::RankWorld& me) {
      virtual_time = true;
      run_rank(test, me, seed, config);
    });
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    if (::testing::Test::HasFailure()) {
      FAIL() << "replay: GRAPNEL_TEST_WORLDS=sim GRAPNEL_TEST_SEED=" << seed << " and this test's --gtest_filter";
    }
  }
}

void run_free(const WorldTest& test, Shape shape) {
  sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
  options.seed(1).free_running();
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) { run_rank(test, me, 1); });
  ASSERT_TRUE(outcome.ok()) << outcome.report;
}

// ---- processes ----

std::chrono::seconds deadline() {
  const char* text = std::getenv("GRAPNEL_TEST_DEADLINE_S");
  return std::chrono::seconds(text != nullptr ? std::atoi(text) : 60);
}

bool is_chosen(const std::string& suite, const std::string& name) {
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& one = *all.GetTestSuite(i);
    if (one.name() != suite) continue;
    for (int j = 0; j < one.total_test_count(); ++j) {
      const ::testing::TestInfo& info = *one.GetTestInfo(j);
      if (info.name() == name) return info.should_run();
    }
  }
  return false;
}

std::string case_of(const std::string& world, Shape shape) {
  return fmt::format("{}_ranks_{}_nodes_{}", world, shape.ranks, shape.nodes);
}

// The full names of the tests that GoogleTest is to run in this world with this shape; last those that want a runtime
// of their own.
std::vector<std::string> chosen_tests(const std::string& world, Shape shape) {
  std::vector<const WorldTest*> chosen;
  for (const WorldTest& test : tests()) {
    const std::string name = test.name + "/" + case_of(world, shape);
    if (is_chosen(test.suite, name)) chosen.push_back(&test);
  }
  std::stable_partition(chosen.begin(), chosen.end(), [](const WorldTest* test) { return !test->alone; });
  std::vector<std::string> names;
  for (const WorldTest* test : chosen) names.push_back(full_name(*test));
  return names;
}

// The first test of a world and shape runs them all; each takes its own outcome.
void run_over(const char* transport, const std::string& world, const WorldTest& test, Shape shape) {
  static std::map<std::string, std::map<std::string, SharedOutcome>> outcomes;
  auto& of_shape = outcomes[case_of(world, shape)];
  const std::string name = full_name(test);
  if (of_shape.find(name) == of_shape.end()) {
    const bool alone = std::getenv("GRAPNEL_TEST_ALONE") != nullptr;
    of_shape = run_shared_jobs(transport, alone ? std::vector{name} : chosen_tests(world, shape), shape, deadline());
  }
  const SharedOutcome outcome = of_shape[name];
  of_shape.erase(name);
  EXPECT_TRUE(outcome.good) << outcome.output;
}

void run_over_ucx(const WorldTest& test, Shape shape) {
  run_over("ucx", shape.nodes == 1 ? "processes" : "nodes", test, shape);
}
void run_over_local(const WorldTest& test, Shape shape) { run_over("local", "local", test, shape); }

// The transport's own tests are its conformance suite: here two shapes show that the layers above work on it.
bool is_shape_for_local(Shape shape) {
  return (shape.ranks == 3 && shape.nodes == 3) || (shape.ranks == 5 && shape.nodes == 2);
}

std::vector<const WorldTest*> tests_named(const std::string& names) {
  std::vector<const WorldTest*> found;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    const auto test =
        std::find_if(tests().begin(), tests().end(), [&](const auto& one) { return full_name(one) == name; });
    if (test == tests().end()) {
      fmt::print(stderr, "no world test is named {}\n", name);
      return {};
    }
    found.push_back(&*test);
  }
  return found;
}

// ---- registration ----

class WorldCase : public ::testing::Test {
 public:
  explicit WorldCase(std::function<void()> run) : run_(std::move(run)) {}
  void TestBody() override { run_(); }

 private:
  std::function<void()> run_;
};

// What really ran, for the closing lines: by world, ranks and nodes, how many tests.
using Ran = std::map<std::string, std::map<std::pair<int, int>, int>>;

Ran& ran() {
  static Ran all;
  return all;
}

void tell_what_ran() {
  for (const auto& [world, shapes] : ran()) {
    int count = 0;
    std::string list;
    for (const auto& [shape, tests_of_shape] : shapes) {
      count += tests_of_shape;
      list += fmt::format(" {}/{}", shape.first, shape.second);
    }
    fmt::print("worlds: {}: {} tests, ranks/nodes{}\n", world, count, list);
  }
}

void add_case(const WorldTest& test, const std::string& world, Shape shape, void (*run)(const WorldTest&, Shape)) {
  const std::string name = test.name + "/" + case_of(world, shape);
  ::testing::RegisterTest(test.suite.c_str(), name.c_str(), nullptr, nullptr, test.file, test.line,
                          [&test, world, shape, run]() -> ::testing::Test* {
                            return new WorldCase([&test, world, shape, run] {
                              run(test, shape);
                              const bool native = world == "nodes" && wants_native();
                              ++ran()[native ? "nodes_native" : world][{shape.ranks, shape.nodes}];
                            });
                          });
}

// The thread sanitizer sees nothing where one thread runs at a time, and its build has not the lock hooks that let the
// scheduler see a contended mutex (tests/sim/lock_hooks.hpp): it gets the free-running worlds.
#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

void register_all() {
  const bool seeded = wants_world("sim") && !kThreadSanitizer;
  if (kThreadSanitizer)
    fmt::print("skipped: seeded worlds (the thread sanitizer's build runs the free-running ones)\n");
  for (const WorldTest& test : tests()) {
    for (const Shape shape : test.shapes) {
      if (seeded) add_case(test, "sim", shape, run_in_sim);
      if (wants_world("free")) add_case(test, "free", shape, run_free);
      if (shape.nodes == 1 && wants_world("processes")) add_case(test, "processes", shape, run_over_ucx);
      if (shape.nodes > 1 && wants_world("nodes")) add_case(test, "nodes", shape, run_over_ucx);
      if (is_shape_for_local(shape) && wants_world("local")) add_case(test, "local", shape, run_over_local);
    }
  }
}

}  // namespace

std::vector<Shape> all_shapes() {
  return {{1, 1}, {2, 1}, {3, 1}, {5, 1}, {2, 2}, {3, 2}, {3, 3}, {5, 2}, {5, 5}, {8, 3}};
}

std::vector<Shape> shapes_from(int least_ranks) {
  std::vector<Shape> shapes;
  for (const Shape shape : all_shapes()) {
    if (shape.ranks >= least_ranks) shapes.push_back(shape);
  }
  return shapes;
}

bool add_world_test(WorldTest test) {
  tests().push_back(std::move(test));
  return true;
}

std::uint64_t world_seed() { return seed_of_this_world; }
bool world_has_virtual_time() { return virtual_time; }
bool world_has_page_tables() { return page_tables; }

bool wants_native() {
  const char* text = std::getenv("GRAPNEL_TEST_NATIVE");
  return text != nullptr && std::string_view(text) == "1";
}

std::uint64_t wire_messages(const Runtime& g, const std::string& operation) {
  for (const OperationCount& row : g.operation_counts()) {
    if (row.operation == operation) return row.wire_messages;
  }
  return 0;
}

std::string rank_trace(const Runtime& g) {
  return fmt::format("rank {} of {} on {} nodes", index(g.rank()), g.size(), g.node_count());
}

}  // namespace grapnel::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (const char* names = std::getenv("GRAPNEL_TEST_BODY")) {
    const auto bodies = grapnel::test::tests_named(names);
    return bodies.empty() ? 2 : grapnel::test::run_as_rank(bodies);
  }
  grapnel::test::register_all();
  const int outcome = RUN_ALL_TESTS();
  grapnel::test::tell_what_ran();
  return outcome;
}
