// SPDX-License-Identifier: Apache-2.0
#include "harness/shared_jobs.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "harness/processes.hpp"

namespace grapnel::test {
namespace {

// ---- in a rank ----

// What a rank prints around a test, by which the job's output is divided.
constexpr std::string_view kBegins = "world test begins: ";
constexpr std::string_view kGood = "world test good: ";
constexpr std::string_view kFailed = "world test failed: ";

void say(std::string_view what, const WorldTest& test) {
  fmt::print("{}{}\n", what, full_name(test));
  std::fflush(stdout);
}

// A test has failed where it recorded a failure, not where an earlier one did.
int failures() {
  const ::testing::TestResult& recorded = ::testing::UnitTest::GetInstance()->ad_hoc_test_result();
  int count = 0;
  for (int i = 0; i < recorded.total_part_count(); ++i) count += recorded.GetTestPartResult(i).failed() ? 1 : 0;
  return count;
}

// The fabric puts and gets by itself: a neighbour's word arrives and goes without a message of ours.
void expect_native(Runtime& g) {
  const auto memory = g.allocate(sizeof(std::uint64_t));
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  const std::uint64_t puts = wire_messages(g, "put"), gets = wire_messages(g, "get"), value = pattern(g.rank(), 0, 0);
  std::uint64_t back = 0;
  EXPECT_OK(g.put(&value, memory->on(next), sizeof value, next));
  EXPECT_OK(g.get(memory->on(next), &back, sizeof back, next));
  EXPECT_EQ(back, value);
  EXPECT_EQ(wire_messages(g, "put"), puts) << "a put took a message where the fabric should put";
  EXPECT_EQ(wire_messages(g, "get"), gets) << "a get took a message where the fabric should get";
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// One test, in the runtime of those before it where there is one; the last to use a runtime ends it.
void run(const WorldTest& test, std::unique_ptr<Runtime>& runtime, bool ends_runtime) {
  if (runtime == nullptr) {
    auto started = Runtime::start();
    ASSERT_TRUE(started.ok()) << "cannot start: " << started.status().to_string();
    runtime = *std::move(started);
  }
  SCOPED_TRACE(rank_trace(*runtime));
  test.body(*runtime);
  if (!ends_runtime) return;
  if (wants_native()) expect_native(*runtime);
  EXPECT_OK(runtime->finish());
  runtime.reset();
}

// ---- in the test that starts the job ----

// What the job printed of one test.
struct Told {
  int good = 0, failed = 0;  // ranks
  std::string output;
};

// A line of the job without its rank, and the rank; -1 for the launcher's own.
std::pair<int, std::string_view> rank_and_text(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || colon == 0) return {-1, line};
  int rank = 0;
  for (const char digit : line.substr(0, colon)) {
    if (digit < '0' || digit > '9') return {-1, line};
    rank = rank * 10 + (digit - '0');
  }
  return {rank, line.substr(colon + 2)};
}

bool take(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Divides a job's output by test: what a rank prints from a test's beginning to the next one's belongs to that test.
std::map<std::string, Told> divide(const std::string& output) {
  std::map<std::string, Told> told;
  std::map<int, std::string> of_rank;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    auto [rank, text] = rank_and_text(line);
    if (take(text, kBegins)) {
      of_rank[rank] = text;
    } else if (take(text, kGood)) {
      ++told[std::string(text)].good;
    } else if (take(text, kFailed)) {
      ++told[std::string(text)].failed;
    } else if (const auto found = of_rank.find(rank); found != of_rank.end()) {
      told[found->second].output += line + "\n";
    }
  }
  return told;
}

// The outcomes of the tests that this job settles: up to the first that failed, at least one.
std::size_t settle(const std::vector<std::string>& names, int ranks, const ProcessOutcome& job,
                   std::map<std::string, SharedOutcome>& outcomes) {
  const std::map<std::string, Told> told = divide(job.output);
  std::size_t settled = 0;
  for (const std::string& name : names) {
    const auto found = told.find(name);
    const Told one = found != told.end() ? found->second : Told{};
    const bool ended = one.good + one.failed == ranks;
    const bool last = settled + 1 == names.size();
    SharedOutcome& outcome = outcomes[name];
    ++settled;
    if (ended && one.failed == 0 && !last) {
      outcome = {true, one.output};
      continue;
    }
    outcome.good = ended && one.failed == 0 && job.exit_code == 0 && job.left_behind.empty();
    outcome.output = ended && one.failed != 0 ? one.output : job.output;
    if (!job.left_behind.empty()) outcome.output += "left behind by this job's tests: " + job.left_behind + "\n";
    break;
  }
  return settled;
}

}  // namespace

std::map<std::string, SharedOutcome> run_shared_jobs(const char* transport, std::vector<std::string> names, Shape shape,
                                                     std::chrono::seconds silence) {
  std::map<std::string, SharedOutcome> outcomes;
  while (!names.empty()) {
    const std::string bodies = fmt::format("{}", fmt::join(names, ","));
    const ProcessOutcome job =
        run_job(shape, {{"GRAPNEL_TEST_BODY", bodies}, {"GRAPNEL_TRANSPORT", transport}}, {"/proc/self/exe"}, silence);
    const std::size_t settled = settle(names, shape.ranks, job, outcomes);
    names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(settled));
  }
  return outcomes;
}

int run_as_rank(const std::vector<const WorldTest*>& bodies) {
  std::unique_ptr<Runtime> runtime;
  for (auto test = bodies.begin(); test != bodies.end(); ++test) {
    const auto next = std::next(test);
    const int before = failures();
    say(kBegins, **test);
    run(**test, runtime, next == bodies.end() || (*test)->alone || (*next)->alone);
    say(failures() == before ? kGood : kFailed, **test);
  }
  return failures() == 0 ? 0 : 1;
}

}  // namespace grapnel::test
