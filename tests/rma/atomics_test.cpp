// Read-modify-write: local and remote ranks hammer the same words.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {

WORLD_TEST(Atomics, FetchAndAddGivesEveryTicketOnce) {
  const auto memory = g.allocate(16);
  ASSERT_TRUE(memory.ok());
  constexpr int kEach = 60;
  const auto count = std::size_t{kEach} * static_cast<std::size_t>(g.size());
  const auto tickets = g.allocate(index(g.rank()) == 0 ? count : 0);
  ASSERT_TRUE(tickets.ok());
  for (int i = 0; i < kEach; ++i) {
    const auto ticket = g.fetch_and_add(memory->on(Rank{0}), 1, Width::bits64, Rank{0});
    ASSERT_TRUE(ticket.ok()) << ticket.status().to_string();
    const char one = 1;
    ASSERT_TRUE(*ticket >= 0 && *ticket < static_cast<std::int64_t>(count)) << *ticket;
    EXPECT_OK(g.put(&one, static_cast<char*>(tickets->on(Rank{0})) + *ticket, 1, Rank{0}));
  }
  EXPECT_OK(g.barrier());
  if (index(g.rank()) == 0) {
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(static_cast<char*>(tickets->local())[i], 1) << "ticket " << i;
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*tickets));
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Atomics, CompareAndSwapCountsLikeALock) {
  const auto memory = g.allocate(16);
  ASSERT_TRUE(memory.ok());
  constexpr int kEach = 20;
  for (const Width width : {Width::bits32, Width::bits64}) {
    void* word = memory->on(Rank{g.size() - 1});
    for (int done = 0; done < kEach;) {
      std::int64_t seen = *g.fetch_and_add(word, 0, width, Rank{g.size() - 1});
      const auto old_value = g.compare_and_swap(word, seen, seen - 1, width, Rank{g.size() - 1});
      ASSERT_TRUE(old_value.ok());
      if (*old_value == seen) ++done;
    }
    EXPECT_OK(g.barrier());
    if (index(g.rank()) == 0) {
      EXPECT_EQ(*g.swap(word, 0, width, Rank{g.size() - 1}), -kEach * g.size());
    }
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Atomics, WidthsAndSigns) {
  const auto memory = g.allocate(16);
  ASSERT_TRUE(memory.ok());
  if (index(g.rank()) == 0) {
    const Rank last{g.size() - 1};
    auto* words = static_cast<std::int32_t*>(memory->on(last));
    EXPECT_EQ(*g.swap(words, -5, Width::bits32, last), 0);
    EXPECT_EQ(*g.fetch_and_add(words, -1, Width::bits32, last), -5);
    EXPECT_EQ(*g.fetch_and_add(words, 0, Width::bits32, last), -6);
    EXPECT_EQ(*g.fetch_and_add(words + 1, 0, Width::bits32, last), 0);  // the neighbour is untouched
    EXPECT_EQ(*g.swap(words + 2, INT64_MIN, Width::bits64, last), 0);
    EXPECT_EQ(*g.fetch_and_add(words + 2, 0, Width::bits64, last), INT64_MIN);
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
