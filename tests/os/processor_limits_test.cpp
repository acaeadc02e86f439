// The search for limits on processors on machines laid out in a folder: none, cgroups of both versions, containers.
// SPDX-License-Identifier: Apache-2.0
#include "os/internal/processor_limits.hpp"

#include <gtest/gtest.h>

#include "os/fake_machine.hpp"
#include "os/host.hpp"

namespace grapnel::os::internal {
namespace {

class Processors : public test::FakeMachine {
 protected:
  std::size_t usable() { return usable_processors(root(), 64); }
};

constexpr const char* kMountV2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kMountV1 =
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n";

TEST_F(Processors, WithoutCgroupsAllThatAreSwitchedOn) { EXPECT_EQ(usable(), 64u); }

TEST_F(Processors, AQuotaIsRoundedUp) {
  write("/proc/self/mountinfo", kMountV2);
  write("/proc/self/cgroup", "0::/job\n");
  write("/sys/fs/cgroup/job/cpu.max", "200000 100000\n");
  EXPECT_EQ(usable(), 2u);
  write("/sys/fs/cgroup/job/cpu.max", "250000 100000\n");
  EXPECT_EQ(usable(), 3u);
  write("/sys/fs/cgroup/job/cpu.max", "10000 100000\n");
  EXPECT_EQ(usable(), 1u);
  write("/sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_EQ(usable(), 64u);
}

TEST_F(Processors, ASetOfProcessors) {
  write("/proc/self/mountinfo", kMountV2);
  write("/proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  write("/sys/fs/cgroup/cpuset.cpus.effective", "0-63\n");
  write("/sys/fs/cgroup/slurm/job_7/step_0/cpuset.cpus.effective", "8-11,40,42\n");
  EXPECT_EQ(usable(), 6u);
  write("/sys/fs/cgroup/slurm/job_7/cpu.max", "400000 100000\n");
  EXPECT_EQ(usable(), 4u) << "an outer group grants less";
}

TEST_F(Processors, Version1) {
  write("/proc/self/mountinfo", kMountV1);
  write("/proc/self/cgroup", "3:cpuset:/docker/a\n2:cpu,cpuacct:/docker/a\n");
  write("/sys/fs/cgroup/cpuset/docker/a/cpuset.cpus", "0-15\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(usable(), 16u) << "a quota of -1 is none";
  write("/sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "350000\n");
  EXPECT_EQ(usable(), 4u);
}

TEST_F(Processors, NonsenseIsNoLimit) {
  write("/proc/self/mountinfo", kMountV2);
  write("/proc/self/cgroup", "0::/job\n");
  for (const char* list : {"", "\n", "x", "3-1", "1-", ",", "1,,2"}) {
    write("/sys/fs/cgroup/job/cpuset.cpus.effective", list);
    EXPECT_EQ(usable(), 64u) << '"' << list << '"';
  }
  for (const char* quota : {"", "\n", "0 100000", "100000 0", "100000", "1 2 3"}) {
    write("/sys/fs/cgroup/job/cpu.max", quota);
    EXPECT_EQ(usable(), 64u) << '"' << quota << '"';
  }
}

TEST(ProcessorsHere, SomeAreUsable) { EXPECT_GE(make_real_host()->processors(), 1u); }

}  // namespace
}  // namespace grapnel::os::internal
