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
  for (const fs::path& folder : {fs::path("/dev/shm"), fs::temp_directory_path()}) {
    const Leftovers leftovers;
    const fs::path file = folder / ("grapnel-leftover-" + std::to_string(::getpid()));
    std::ofstream(file) << "x";
    EXPECT_EQ(leftovers.found(), "left behind: " + file.string() + "\n");
    EXPECT_EQ(Leftovers().found(), "") << "what was there before is not the job's";
    fs::remove(file);
    EXPECT_EQ(leftovers.found(), "");
  }
}

TEST(Leftovers, ProcessesOfTheJobAreFound) {
  const Leftovers leftovers;
  std::string mark = leftovers.mark().first + '=' + leftovers.mark().second;
  std::string program = "sleep", time = "60";
  std::array<char*, 3> arguments{program.data(), time.data(), nullptr};
  std::array<char*, 2> environment{mark.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(::posix_spawn(&child, "/bin/sleep", nullptr, nullptr, arguments.data(), environment.data()), 0);
  EXPECT_EQ(leftovers.found(), "left behind: process " + std::to_string(child) + ", sleep 60 \n");
  EXPECT_EQ(Leftovers().found(), "");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(leftovers.found(), "");
}

}  // namespace
}  // namespace grapnel::test
