// SPDX-License-Identifier: Apache-2.0
#include "harness/leftovers.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace grapnel::test {
namespace {

namespace fs = std::filesystem;

TEST(Leftovers, NothingIsFoundWhereNothingIs) { EXPECT_EQ(Leftovers().found(), ""); }

TEST(Leftovers, FilesOfJobsAreFound) {
  const Leftovers leftovers;
  const std::string name = "grapnel-leftover-" + std::to_string(::getpid());
  for (const fs::path& folder : {fs::path("/dev/shm"), fs::path(leftovers.environment()[1].second)}) {
    const fs::path file = folder / name;
    std::ofstream(file) << "x";
    EXPECT_EQ(leftovers.found(), "left behind: " + file.string() + "\n");
    EXPECT_EQ(Leftovers().found(), "") << "what was there before, or is another job's";
    fs::remove(file);
    EXPECT_EQ(leftovers.found(), "");
  }
}

TEST(Leftovers, ProcessesOfTheJobAreFound) {
  const Leftovers leftovers;
  const auto [name, value] = leftovers.environment()[0];
  std::string mark = name + '=' + value;
  std::string program = "sleep", time = "60";
  std::array<char*, 3> arguments{program.data(), time.data(), nullptr};
  std::array<char*, 2> environment{mark.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(::posix_spawn(&child, "/bin/sleep", nullptr, nullptr, arguments.data(), environment.data()), 0);
  // It shows its environment a moment after it has begun.
  for (int looks = 0; looks < 100 && leftovers.found().empty(); ++looks) ::usleep(10'000);
  EXPECT_EQ(leftovers.found(), "left behind: process " + std::to_string(child) + ", sleep 60 \n");
  EXPECT_EQ(Leftovers().found(), "");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(leftovers.found(), "");
}

}  // namespace
}  // namespace grapnel::test
