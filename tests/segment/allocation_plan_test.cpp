// SPDX-License-Identifier: Apache-2.0
#include "segment/internal/allocation_plan.hpp"

#include <gtest/gtest.h>

#include "base/units.hpp"

namespace grapnel::segment {
namespace {

using base::kGiB;
using base::kMiB;

launch::Group world_of(int size) { return launch::make_world(Rank{0}, size); }
const os::MemoryLimit kPlenty{64 * kGiB, "MemAvailable"};

TEST(AllocationPlan, LaysPartsBehindOneAnother) {
  const auto nodes = launch::make_node_map(std::vector<std::string>(5, "m"), 2);  // 0 1 2 | 3 4
  const auto plan = plan_allocation(world_of(5), nodes, {{100, kPlenty}, {0, {}}, {5000, {}}, {0, kPlenty}, {0, {}}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->offset_of, (std::vector<std::size_t>{0, 4096, 4096, 0, 0}));
  EXPECT_EQ(plan->share_of, (std::vector<std::size_t>{0, 0, 0, 1, 1}));
  ASSERT_EQ(plan->shares.size(), 2u);
  EXPECT_EQ(plan->shares[0].bytes, 3 * 4096u);
  EXPECT_EQ(plan->shares[1].bytes, 0u);
  EXPECT_EQ(plan->shares[1].first, 3u);
}

TEST(AllocationPlan, NodesOfOneMachineShareItsMemory) {
  const auto one = launch::make_node_map({"m", "m", "m", "m"}, 2);
  const os::MemoryLimit limit{10 * kGiB, "MemAvailable"};
  const std::vector<PartRequest> requests = {{3 * kGiB, limit}, {0, {}}, {7 * kGiB, limit}, {0, {}}};
  const auto refused = plan_allocation(world_of(4), one, requests);
  ASSERT_EQ(refused.status().code(), Code::no_memory);
  EXPECT_NE(refused.status().message().find("rank 0"), std::string::npos) << refused.status().message();
  const auto two = launch::make_node_map({"m", "m", "n", "n"}, 0);
  EXPECT_TRUE(plan_allocation(world_of(4), two, requests).ok());
}

TEST(AllocationPlan, TheTightestReadingOfAMachineCounts) {
  const auto nodes = launch::make_node_map({"m", "m"}, 2);
  const auto refused = plan_allocation(world_of(2), nodes, {{kGiB, kPlenty}, {kGiB, {kGiB, "memory.max of /job"}}});
  ASSERT_EQ(refused.status().code(), Code::no_memory);
  EXPECT_NE(refused.status().message().find("memory.max of /job"), std::string::npos);
}

TEST(AllocationPlan, AbsurdSizesDoNotWrap) {
  const auto nodes = launch::make_node_map({"m", "m"}, 0);
  const std::size_t most = std::size_t{1} << 47;
  EXPECT_EQ(plan_allocation(world_of(2), nodes, {{~std::size_t{0}, kPlenty}, {0, {}}}).status().code(),
            Code::invalid_argument);
  EXPECT_EQ(plan_allocation(world_of(2), nodes, {{most, kPlenty}, {most, {}}}).status().code(), Code::no_memory);
}

TEST(AllocationPlan, AskingForNothingNeedsNoMemory) {
  const auto nodes = launch::make_node_map({"m"}, 0);
  EXPECT_TRUE(plan_allocation(world_of(1), nodes, {{0, {0, "a limit"}}}).ok());
}

}  // namespace
}  // namespace grapnel::segment
