// A job that several tests share: each gets its own outcome, whatever the others do.
// SPDX-License-Identifier: Apache-2.0
#include "harness/shared_jobs.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

namespace grapnel::test {
namespace {

const std::vector<Shape> kNone;  // these run only where a test below names them

// The how-manieth notification to itself this is: counted from the runtime's start.
std::uint64_t notifications(Runtime& g) {
  EXPECT_OK(g.notify(g.rank()));
  const auto count = g.wait_notify(g.rank());
  EXPECT_OK(count.status());
  return count.ok() ? *count : 0;
}

}  // namespace

WORLD_TEST_ON(Body, First, kNone) { EXPECT_EQ(notifications(g), 1U); }
WORLD_TEST_ON(Body, Second, kNone) { EXPECT_EQ(notifications(g), 2U) << "a runtime of its own"; }
WORLD_TEST_ALONE_ON(Body, Alone, kNone) { EXPECT_EQ(notifications(g), 1U) << "the runtime of another test"; }
WORLD_TEST_ON(Body, FailsInOneRank, kNone) { EXPECT_NE(g.rank(), Rank{1}) << "planted"; }
WORLD_TEST_ON(Body, Dies, kNone) {
  if (g.rank() == Rank{1}) std::raise(SIGKILL);
  EXPECT_OK(g.barrier());
}
WORLD_TEST_ON(Body, Hangs, kNone) {
  if (g.rank() == Rank{1}) ::pause();
  EXPECT_OK(g.barrier());
}
WORLD_TEST_ON(Body, LeavesAFile, kNone) {
  if (g.rank() == Rank{1}) std::ofstream(std::string(std::getenv("TMPDIR")) + "/left") << "planted";
}

namespace {

std::map<std::string, SharedOutcome> run(const std::vector<std::string>& names) {
  std::vector<std::string> full;
  for (const std::string& name : names) full.push_back("Body." + name);
  return run_shared_jobs("ucx", full, {3, 2}, std::chrono::seconds(4));
}

}  // namespace

TEST(SharedJobs, ShareARuntimeUnlessATestWantsItsOwn) {
  for (const auto& [name, outcome] : run({"First", "Second", "Alone"})) {
    EXPECT_TRUE(outcome.good) << name << outcome.output;
  }
}

TEST(SharedJobs, AFailureBelongsToItsTest) {
  const auto outcomes = run({"First", "FailsInOneRank", "Second"});
  EXPECT_TRUE(outcomes.at("Body.First").good);
  EXPECT_FALSE(outcomes.at("Body.FailsInOneRank").good);
  EXPECT_NE(outcomes.at("Body.FailsInOneRank").output.find("planted"), std::string::npos);
  EXPECT_FALSE(outcomes.at("Body.Second").good) << "it runs again, in a job without the first";
  EXPECT_NE(outcomes.at("Body.Second").output.find("a runtime of its own"), std::string::npos);
}

TEST(SharedJobs, WhatComesAfterADeathOrAHangRunsAgain) {
  const auto outcomes = run({"Dies", "Alone", "Hangs", "First"});
  EXPECT_TRUE(outcomes.at("Body.First").good) << outcomes.at("Body.First").output;
  EXPECT_TRUE(outcomes.at("Body.Alone").good) << outcomes.at("Body.Alone").output;
  EXPECT_FALSE(outcomes.at("Body.Dies").good);
  EXPECT_NE(outcomes.at("Body.Dies").output.find("killed by signal 9"), std::string::npos);
  EXPECT_FALSE(outcomes.at("Body.Hangs").good);
  EXPECT_NE(outcomes.at("Body.Hangs").output.find("nothing came for 4 s"), std::string::npos);
}

TEST(SharedJobs, WhatAJobLeavesIsAFailure) {
  const auto outcomes = run({"LeavesAFile", "First"});
  EXPECT_FALSE(outcomes.at("Body.First").good);
  EXPECT_NE(outcomes.at("Body.First").output.find("left behind by this job's tests"), std::string::npos);
}

}  // namespace grapnel::test
