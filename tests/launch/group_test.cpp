// SPDX-License-Identifier: Apache-2.0
#include "launch/group.hpp"

#include <gtest/gtest.h>

namespace grapnel::launch {
namespace {

TEST(Group, FindsItsMembersPlaces) {
  const auto group = make_group({Rank{7}, Rank{2}, Rank{9}}, Rank{9}, 12);
  ASSERT_TRUE(group.ok());
  EXPECT_EQ(group->my_index, 2U);
  EXPECT_EQ(group->index_of(Rank{2}), 0U);
  EXPECT_EQ(group->index_of(Rank{3}), group->size());
  EXPECT_FALSE(group->contains(Rank{11}));
}

TEST(Group, TravelsAsBits) {
  for (const int job_size : {10, 16, 17, 1000}) {
    const auto group = make_group({Rank{0}, Rank{7}, Rank{8}, Rank{9}}, Rank{8}, job_size);
    ASSERT_TRUE(group.ok());
    const Bytes bits = member_bits(*group, job_size);
    const auto received = group_of_bits(bits, job_size);
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->members, group->members);
    EXPECT_EQ(received->key, group->key);
    EXPECT_EQ(received->my_index, received->size());
    EXPECT_FALSE(group_of_bits(ByteView(bits).first(bits.size() - 1), job_size).has_value());
    EXPECT_FALSE(group_of_bits(bits, job_size + 8).has_value());
  }
  EXPECT_FALSE(group_of_bits(Bytes(2), 10).has_value());
  EXPECT_FALSE(group_of_bits(Bytes{std::byte{1}, std::byte{4}}, 10).has_value());  // names rank 10
}

}  // namespace
}  // namespace grapnel::launch
