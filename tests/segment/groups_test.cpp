// Allocations of groups of every shape, each rank a thread.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "segment/member.hpp"

namespace grapnel::segment {
namespace {

using test::FakeLaunch;
using test::FakeWorld;
using test::Member;
using test::run_ranks;
using test::segment_bytes;

TEST(SegmentTable, GroupsAllocateSideBySide) {
  FakeWorld world(4, 2);  // 0 1 | 2 3
  run_ranks(world, [](FakeLaunch& launch) {
    Member m(launch);
    const auto node_group = *launch::make_group(launch.nodes().ranks_of[index(launch.node())], launch.rank(), 4);
    std::vector<void*> live;
    for (int i = 0; i < 200; ++i) {
      auto allocation = m.table.allocate(i % 3 == 0 ? m.world : node_group, 10'000);
      ASSERT_TRUE(allocation.ok()) << allocation.status().to_string();
      const std::size_t at = i % 3 == 0 ? m.me : node_group.my_index;
      live.push_back(allocation->parts[at].address);
    }
    // An allocation belongs to its group.
    EXPECT_EQ(m.table.free(m.world, live[1]).code(), Code::invalid_argument);
    for (int i = 199; i >= 0; --i) {
      ASSERT_TRUE(m.table.free(i % 3 == 0 ? m.world : node_group, live[static_cast<std::size_t>(i)]).ok());
    }
  });
}

// Every set of ranks as a group, from the lowest on; all members walk through them in the same order.
TEST(SegmentTable, GroupsOfEveryShapeNeedNoLeader) {
  for (const int nodes : {1, 2, 3}) {
    FakeWorld world(4, nodes);
    run_ranks(world, [](FakeLaunch& launch) {
      Member m(launch);
      for (unsigned mask = 1; mask < 16; ++mask) {
        std::vector<Rank> members;
        for (int rank = 0; rank < 4; ++rank) {
          if ((mask >> rank & 1) != 0) members.push_back(Rank{rank});
        }
        void* last = nullptr;
        const bool takes_part = (mask >> m.me & 1) != 0;
        if (takes_part) {
          const auto group = *launch::make_group(members, launch.rank(), 4);
          auto allocation = m.table.allocate(group, 1000 * (m.me + 1));
          ASSERT_TRUE(allocation.ok()) << allocation.status().to_string();
          last = allocation->parts[group.my_index].address;
          *static_cast<unsigned*>(last) = mask;
        }
        // All ranks of a node reach it, members or not.
        const auto everybodys = *launch.allgather(m.world, base::bytes_of(last));
        for (std::size_t rank = 0; rank < 4; ++rank) {
          void* address = nullptr;
          std::memcpy(&address, everybodys[rank].data(), sizeof address);
          if (address == nullptr || !m.same_node(rank)) continue;
          EXPECT_TRUE(m.table.contains(address, 1000 * (rank + 1)));
          EXPECT_NE(m.table.reach().end_of_segment(address), 0u);
          EXPECT_EQ(*static_cast<unsigned*>(address), mask);
        }
        m.barrier();
        if (!takes_part) continue;
        const auto group = *launch::make_group(members, launch.rank(), 4);
        EXPECT_EQ(m.table.free(group, static_cast<char*>(last) + 1).code(), Code::invalid_argument);
        EXPECT_TRUE(m.table.free(group, last).ok());
        EXPECT_FALSE(m.table.contains(last, 1));
        EXPECT_EQ(m.table.reach().end_of_segment(last), 0u);
      }
      m.barrier();
      EXPECT_EQ(segment_bytes(), 0u);
      m.barrier();
    });
  }
}

}  // namespace
}  // namespace grapnel::segment
