// SPDX-License-Identifier: Apache-2.0
#include "os/identity.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/process.hpp"

namespace grapnel::os {
namespace {

TEST(Identity, IsTheSameInEveryProcessOfTheMachine) {
  const std::string mine = machine_identity();
  EXPECT_EQ(std::count(mine.begin(), mine.end(), '/'), 2) << mine;
  EXPECT_EQ(mine.find('\n'), std::string::npos);
  test::Child child([&] { return machine_identity() == mine; });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Identity, ProcessorsAscend) {
  const auto cpus = cpus_allowed();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
}

TEST(Identity, RandomNumbersDiffer) { EXPECT_NE(random_u64(), random_u64()); }

}  // namespace
}  // namespace grapnel::os
