// The search for memory limits on machines laid out in a folder: no cgroups, version 1, version 2, nested, containers.
// SPDX-License-Identifier: Apache-2.0
#include "os/internal/memory_limits.hpp"

#include <gtest/gtest.h>

#include "base/units.hpp"
#include "os/fake_machine.hpp"

namespace grapnel::os::internal {
namespace {

using base::kGiB;
using base::kKiB;
using base::kMiB;

class Memory : public test::FakeMachine {
 protected:
  Memory() {
    write("/proc/meminfo", "MemTotal:       32000000 kB\nMemFree:         1000000 kB\nMemAvailable:   " +
                               std::to_string(16 * kGiB / kKiB) + " kB\n");
  }

  void write_v1(const std::string& folder, std::size_t limit, std::size_t usage, std::size_t inactive_file) {
    write(folder + "/memory.limit_in_bytes", std::to_string(limit) + "\n");
    write(folder + "/memory.usage_in_bytes", std::to_string(usage) + "\n");
    write(folder + "/memory.stat",
          "inactive_file 1\ntotal_cache 12\ntotal_inactive_file " + std::to_string(inactive_file) + "\n");
  }
  void write_v2(const std::string& folder, const std::string& limit, std::size_t usage, std::size_t inactive_file) {
    write(folder + "/memory.max", limit + "\n");
    write(folder + "/memory.current", std::to_string(usage) + "\n");
    write(folder + "/memory.stat", "anon 5\ninactive_file " + std::to_string(inactive_file) + "\nslab 3\n");
  }
  MemoryLimit tightest() { return tightest_memory_limit_below(root()); }
};

constexpr const char* kMountV2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kMountV1 =
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST_F(Memory, WithoutCgroupsTheMachineIsTheLimit) {
  EXPECT_EQ(tightest().available_bytes, 16 * kGiB);
  EXPECT_EQ(tightest().source, "MemAvailable");
}

TEST_F(Memory, Version2) {
  write("/proc/self/mountinfo", kMountV2);
  write("/proc/self/cgroup", "0::/user.slice/job\n");
  write_v2("/sys/fs/cgroup/user.slice/job", std::to_string(4 * kGiB), 3 * kGiB, kGiB / 2);
  EXPECT_EQ(tightest().available_bytes, kGiB + kGiB / 2) << "page cache that can go does not count as used";
  EXPECT_EQ(tightest().source, "memory.max of /sys/fs/cgroup/user.slice/job");
}

TEST_F(Memory, AnOuterGroupMayBeTighter) {
  write("/proc/self/mountinfo", kMountV2);
  write("/proc/self/cgroup", "0::/user.slice/job/step\n");
  write_v2("/sys/fs/cgroup/user.slice/job/step", "max", kGiB, 0);
  write_v2("/sys/fs/cgroup/user.slice/job", std::to_string(8 * kGiB), kGiB, 0);
  write_v2("/sys/fs/cgroup/user.slice", std::to_string(6 * kGiB), 5 * kGiB, 0);
  EXPECT_EQ(tightest().available_bytes, kGiB);
  EXPECT_EQ(tightest().source, "memory.max of /sys/fs/cgroup/user.slice");
  EXPECT_EQ(memory_limits(root()).size(), 3u) << "\"max\" is no limit";
}

TEST_F(Memory, AGroupOverItsLimitLeavesNothing) {
  write("/proc/self/mountinfo", kMountV2);
  write("/proc/self/cgroup", "0::/job\n");
  write_v2("/sys/fs/cgroup/job", std::to_string(kGiB), 2 * kGiB, 3 * kMiB);
  EXPECT_EQ(tightest().available_bytes, 0u);
  write_v2("/sys/fs/cgroup/job", std::to_string(kGiB), kMiB, 3 * kMiB);
  EXPECT_EQ(tightest().available_bytes, kGiB) << "more cache than use: figures are read one after another";
}

TEST_F(Memory, Version1BesideAnEmptyVersion2) {
  write("/proc/self/mountinfo", kMountV1);
  write("/proc/self/cgroup", "3:cpuset:/elsewhere\n4:cpu,memory:/jobs/17\n0::/\n");
  write_v1("/sys/fs/cgroup/memory/jobs/17", 9223372036854771712u, kGiB, 0);
  write_v1("/sys/fs/cgroup/memory/jobs", 5 * kGiB, 2 * kGiB, kMiB);
  write_v1("/sys/fs/cgroup/memory", 9223372036854771712u, 9 * kGiB, 0);
  EXPECT_EQ(tightest().available_bytes, 3 * kGiB + kMiB);
  EXPECT_EQ(tightest().source, "memory.limit_in_bytes of /sys/fs/cgroup/memory/jobs");
  EXPECT_EQ(memory_limits(root()).size(), 2u) << "the largest number of whole pages is no limit";
}

TEST_F(Memory, ContainerSeesOnlyItsPartOfTheHierarchy) {
  // Without a cgroup namespace the own path is the host's, and the mount shows what lies below its root.
  write("/proc/self/mountinfo", "29 23 0:26 /docker/abc /sys/fs/cgroup\\040here ro - cgroup2 cgroup ro\n");
  write("/proc/self/cgroup", "0::/docker/abc/inner\n");
  write_v2("/sys/fs/cgroup here", std::to_string(2 * kGiB), kGiB, 0);
  write_v2("/sys/fs/cgroup here/inner", "max", kGiB, 0);
  EXPECT_EQ(tightest().available_bytes, kGiB);
  // A path outside of the mount: its root is the best that can be seen.
  write("/proc/self/cgroup", "0::/../other\n");
  EXPECT_EQ(tightest().available_bytes, kGiB);
  write("/proc/self/cgroup", "0::/docker/abcdef\n");
  EXPECT_EQ(tightest().available_bytes, kGiB);
}

TEST_F(Memory, NonsenseIsNoLimit) {
  write("/proc/self/mountinfo", std::string("x\n- - -\n1 2 3 4 5 6 -\n") + kMountV2);
  write("/proc/self/cgroup", "nonsense\n::\n0::/job\n");
  write_v2("/sys/fs/cgroup/job", "nonsense", 1, 1);
  EXPECT_EQ(tightest().source, "MemAvailable");
  remove();
  EXPECT_EQ(tightest().source, "no known limit");
}

TEST(ThisMachine, HasALimit) {
  const MemoryLimit limit = tightest_memory_limit();
  EXPECT_GT(limit.available_bytes, 0u);
  EXPECT_LT(limit.available_bytes, std::size_t{1} << 50);
}

}  // namespace
}  // namespace grapnel::os::internal
