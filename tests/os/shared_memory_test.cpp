// SPDX-License-Identifier: Apache-2.0
#include "os/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "base/units.hpp"
#include "os/process.hpp"

namespace grapnel::os {
namespace {

std::size_t bytes_taken(const Descriptor& file) {
  struct stat properties {};
  EXPECT_EQ(::fstat(file.number(), &properties), 0);
  return static_cast<std::size_t>(properties.st_blocks) * 512;
}

TEST(SharedMemory, IsSparseUntilReserved) {
  auto file = create_shared_file("memory_test", 8 * base::kMiB);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(bytes_taken(*file), 0u);
  ASSERT_TRUE(reserve_shared_file(*file, 4096, base::kMiB).ok());
  EXPECT_EQ(bytes_taken(*file), base::kMiB);
  ASSERT_TRUE(reserve_shared_file(*file, 0, 0).ok());
  EXPECT_EQ(bytes_taken(*file), base::kMiB);
}

bool enter_own_namespaces() {
  const std::string user = "0 " + std::to_string(::getuid()) + " 1";
  const std::string group = "0 " + std::to_string(::getgid()) + " 1";
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  // A user that is unknown in the new namespace may not create files there.
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user;
  std::ofstream("/proc/self/gid_map") << group;
  return true;
}

// A file system of 300 MiB that only this process sees: it refuses in the middle, as a full machine would.
Descriptor file_on_a_small_file_system(std::size_t bytes) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / test::unique_name("small");
  std::filesystem::create_directory(folder);
  Descriptor file;
  if (enter_own_namespaces() && ::mount("none", folder.c_str(), "tmpfs", 0, "size=300m") == 0) {
    file = Descriptor(::open((folder / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (file.valid() && ::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) file.reset();
    ::umount2(folder.c_str(), MNT_DETACH);
  }
  std::error_code ignored;
  std::filesystem::remove(folder, ignored);
  return file;
}

TEST(SharedMemory, RefusedReservationTakesNothing) {
  enum Answer { kRight, kWrong, kNoNamespaces };
  const int pid = ::fork();
  if (pid == 0) {
    const Descriptor file = file_on_a_small_file_system(base::kGiB);
    if (!file.valid()) ::_exit(kNoNamespaces);
    const bool first = reserve_shared_file(file, 0, base::kMiB).ok();
    const Status status = reserve_shared_file(file, base::kMiB, base::kGiB - base::kMiB);
    const bool right = first && status.code() == Code::no_memory && bytes_taken(file) == base::kMiB;
    ::_exit(right ? kRight : kWrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNamespaces) GTEST_SKIP() << "no user namespaces here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kRight) << status;
}

volatile sig_atomic_t alarms = 0;

TEST(SharedMemory, ReservationSurvivesATimerSignal) {
  test::Child child([] {
    struct sigaction action {};
    action.sa_handler = [](int) { alarms = alarms + 1; };
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval every_2_ms{{0, 2000}, {0, 2000}};
    ::setitimer(ITIMER_REAL, &every_2_ms, nullptr);
    auto file = create_shared_file("memory_test", 512 * base::kMiB);
    const bool done =
        file.ok() && reserve_shared_file(*file, 0, 512 * base::kMiB).ok() && bytes_taken(*file) == 512 * base::kMiB;
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    return done && alarms > 0;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(SharedMemory, TooMuchIsRefusedByTheCheck) {
  EXPECT_TRUE(check_memory_available(base::kMiB).ok());
  const Status status = check_memory_available(std::size_t{1} << 40);
  ASSERT_EQ(status.code(), Code::no_memory);
  EXPECT_NE(status.message().find("leaves"), std::string::npos) << status.message();
  EXPECT_EQ(check_memory_available(memory_available()).code(), Code::no_memory) << "a reserve stays";
}

TEST(SharedMemory, CheckKeepsAReserve) {
  const MemoryLimit small{100 * base::kMiB, "a limit"};
  EXPECT_TRUE(check_memory_limit(36 * base::kMiB, small).ok());
  EXPECT_FALSE(check_memory_limit(36 * base::kMiB + 1, small).ok());
  const MemoryLimit large{100 * base::kGiB, "a limit"};
  EXPECT_TRUE(check_memory_limit(99 * base::kGiB, large).ok());
  EXPECT_FALSE(check_memory_limit(99 * base::kGiB + 1, large).ok());
  EXPECT_FALSE(check_memory_limit(1, {0, "a limit"}).ok());
  EXPECT_TRUE(check_memory_limit(0, {0, "a limit"}).ok());
}

TEST(SharedMemory, MappingMovesAndUnmaps) {
  auto file = create_shared_file("mapping_test", 4096);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(test::memory_map_lines("mapping_test"), "");
  {
    auto first = Mapping::create(*file, 4096);
    ASSERT_TRUE(first.ok());
    static_cast<char*>(first->address())[0] = 7;
    EXPECT_NE(test::memory_map_lines("mapping_test"), "");
    Mapping second = *std::move(first);
    EXPECT_EQ(first->address(), nullptr);  // NOLINT(bugprone-use-after-move): what a move leaves behind is promised
    EXPECT_EQ(static_cast<char*>(second.address())[0], 7);
    Mapping third;
    third = std::move(second);
    EXPECT_EQ(third.bytes(), 4096u);
  }
  EXPECT_EQ(test::memory_map_lines("mapping_test"), "");
}

}  // namespace
}  // namespace grapnel::os
