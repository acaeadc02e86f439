// Words of the network domain: the adapter updates them, for ranks of their node too, and nothing else does.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {

WORLD_TEST(NetworkDomain, IsThereOrRefusedByAll) {
  const auto memory = g.allocate(64, AtomicDomain::network);
  EXPECT_EQ(memory.ok(), has_network_domain(g)) << memory.status().to_string();
  if (!memory.ok()) {
    EXPECT_CODE(Code::unavailable, memory.status());
    return;
  }
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(NetworkDomain, FetchAndAddGivesEveryTicketOnce) {
  if (!has_network_domain(g)) return;
  const auto memory = g.allocate(16, AtomicDomain::network);
  ASSERT_OK(memory.status());
  constexpr int kEach = 40;
  const auto count = std::size_t{kEach} * static_cast<std::size_t>(g.size());
  const Rank home{g.size() / 2};
  const auto tickets = g.allocate(g.rank() == home ? count : 0);
  ASSERT_OK(tickets.status());
  for (int i = 0; i < kEach; ++i) {
    const auto ticket = g.fetch_and_add(memory->on(home), 1, Width::bits64, home);
    ASSERT_OK(ticket.status());
    const char one = 1;
    ASSERT_TRUE(*ticket >= 0 && *ticket < static_cast<std::int64_t>(count)) << *ticket;
    EXPECT_OK(g.put(&one, static_cast<char*>(tickets->on(home)) + *ticket, 1, home));
  }
  EXPECT_OK(g.barrier());
  if (g.rank() == home) {
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(static_cast<char*>(tickets->local())[i], 1) << "ticket " << i;
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*tickets));
  EXPECT_OK(g.free(*memory));
}

// Of processes: as many as a ticket is likely to be given twice to, if atomics of two ranks ever mix.
WORLD_TEST_ON(NetworkDomain, TwentyThousandTicketsEach, (std::vector<Shape>{{4, 2}})) {
  if (!has_network_domain(g) || !world_has_page_tables()) return;
  const auto memory = g.allocate(8, AtomicDomain::network);
  ASSERT_OK(memory.status());
  constexpr std::size_t kEach = 20'000;
  const Rank home{g.size() - 1};
  std::vector<std::int64_t> mine(kEach), all(kEach * static_cast<std::size_t>(g.size()));
  for (std::int64_t& ticket : mine) {
    const auto taken = g.fetch_and_add(memory->on(home), 1, Width::bits64, home);
    ASSERT_OK(taken.status());
    ticket = *taken;
  }
  EXPECT_OK(g.allgather(mine.data(), all.data(), kEach * sizeof(std::int64_t)));
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// The swap is made of comparisons where the adapter has none: every value that went in comes out once.
WORLD_TEST(NetworkDomain, SwapsLoseNothing) {
  if (!has_network_domain(g)) return;
  const auto memory = g.allocate(16, AtomicDomain::network);
  const auto sum = g.allocate(16, AtomicDomain::network);
  ASSERT_TRUE(memory.ok() && sum.ok());
  const Rank home{g.size() - 1};
  constexpr std::int64_t kEach = 10;
  std::int64_t out = 0, in = 0;
  for (std::int64_t i = 0; i < kEach; ++i) {
    const std::int64_t value = (static_cast<std::int64_t>(index(g.rank())) + 1) * 1000 + i;
    const auto old_value = g.swap(memory->on(home), value, Width::bits64, home);
    ASSERT_OK(old_value.status());
    in += value;
    out += *old_value;
  }
  ASSERT_OK(g.fetch_and_add(sum->on(home), in - out, Width::bits64, home).status());
  EXPECT_OK(g.barrier());
  // What went in and did not come out is in the word.
  const auto last = g.fetch_and_add(memory->on(home), 0, Width::bits64, home);
  const auto left = g.fetch_and_add(sum->on(home), 0, Width::bits64, home);
  ASSERT_TRUE(last.ok() && left.ok());
  EXPECT_EQ(*left, *last);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*sum));
  EXPECT_OK(g.free(*memory));
}

// Blocking operations of one rank on the same word take effect in program order, whatever carries them out.
WORLD_TEST(NetworkDomain, PutsAndGetsKeepTheirOrderWithAtomics) {
  if (!has_network_domain(g)) return;
  const std::size_t bytes = sizeof(std::int64_t) * static_cast<std::size_t>(g.size());
  const auto memory = g.allocate(bytes, AtomicDomain::network);
  ASSERT_OK(memory.status());
  for (int target = 0; target < g.size(); ++target) {
    auto* const word = static_cast<std::int64_t*>(memory->on(Rank{target})) + index(g.rank());
    for (std::int64_t i = 1; i < 6; ++i) {
      const std::int64_t written = 100 * i;
      EXPECT_OK(g.put(&written, word, sizeof written, Rank{target}));
      const auto found = g.compare_and_swap(word, written, written + 1, Width::bits64, Rank{target});
      ASSERT_OK(found.status());
      EXPECT_EQ(*found, written);
      std::int64_t read = 0;
      EXPECT_OK(g.get(word, &read, sizeof read, Rank{target}));
      EXPECT_EQ(read, written + 1);
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(NetworkDomain, MixingIsRefused) {
  if (!has_network_domain(g)) return;
  const auto memory = g.allocate(64, AtomicDomain::network);
  ASSERT_OK(memory.status());
  const Strided shape = Strided::contiguous(sizeof(double));
  for (int target = 0; target < g.size(); ++target) {
    const Rank home{target};
    void* const word = memory->on(home);
    double value = 1, old_value = 0;
    const Piece piece{&value, word, sizeof value};
    EXPECT_CODE(Code::invalid_argument, g.fetch_and_add(word, 1, Width::bits32, home).status());
    EXPECT_CODE(Code::invalid_argument, g.fetch_and_add(static_cast<char*>(word) + 4, 1, Width::bits64, home).status());
    EXPECT_CODE(Code::invalid_argument, g.accumulate(ElementType::float64, nullptr, &value, word, sizeof value, home));
    EXPECT_CODE(Code::invalid_argument, g.accumulate(ElementType::float64, nullptr, &value, shape, word, shape, home));
    EXPECT_CODE(Code::invalid_argument, g.accumulate(ElementType::float64, nullptr, {&piece, 1}, home));
    EXPECT_CODE(Code::invalid_argument, g.update(Operation::sum, NumberType::float64, &value, word, 1, home));
    EXPECT_CODE(Code::invalid_argument,
                g.fetch_and_update(Operation::sum, NumberType::float64, &value, &old_value, word, 1, home));
    EXPECT_CODE(Code::invalid_argument, g.compare_and_update(&value, &value, &old_value, word, 8, home));
    const Status refused = g.accumulate(ElementType::float64, nullptr, &value, word, sizeof value, home);
    EXPECT_NE(refused.message().find("network domain"), std::string::npos) << refused.to_string();
  }
  EXPECT_OK(g.barrier());
  const auto left = g.fetch_and_add(memory->on(Rank{0}), 0, Width::bits64, Rank{0});
  ASSERT_OK(left.status());
  EXPECT_EQ(*left, 0);  // nothing was touched
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// Ranks that are no members, on the same node and on others, can put and get, and update nothing.
WORLD_TEST_ON(NetworkDomain, OnlyMembersUpdate, (std::vector<Shape>{{3, 1}, {4, 2}, {5, 2}})) {
  if (!has_network_domain(g)) return;
  const Rank last{g.size() - 1};
  std::vector<Rank> members;
  for (int rank = 0; rank < g.size() - 1; ++rank) members.push_back(Rank{rank});
  const auto addresses = g.allocate(sizeof(void*));
  ASSERT_OK(addresses.status());
  Memory memory;
  if (g.rank() != last) {
    const auto made = g.allocate(*g.make_group(members), 64, AtomicDomain::network);
    ASSERT_OK(made.status());
    memory = *made;
    void* const word = memory.on(Rank{0});
    if (index(g.rank()) == 0) EXPECT_OK(g.put(&word, addresses->on(last), sizeof word, last));
  }
  EXPECT_OK(g.barrier());
  if (g.rank() == last) {
    void* const word = *static_cast<void**>(addresses->local());
    // In a job of one node the processor is the domain's, for all ranks.
    EXPECT_EQ(g.fetch_and_add(word, 0, Width::bits64, Rank{0}).ok(), g.node_count() == 1);
    const double value = 1;
    const Status added = g.accumulate(ElementType::float64, nullptr, &value, word, sizeof value, Rank{0});
    const Status fenced = g.fence(Rank{0});
    EXPECT_FALSE(added.ok() && fenced.ok());
    std::int64_t read = 7;
    EXPECT_OK(g.get(word, &read, sizeof read, Rank{0}));
    EXPECT_EQ(read, 0);
  }
  EXPECT_OK(g.barrier());
  if (g.rank() != last) EXPECT_OK(g.free(*g.make_group(members), memory));
  EXPECT_OK(g.free(*addresses));
}

// Memory that is freed and allocated again, in either domain: no key and no mark is left over.
WORLD_TEST(NetworkDomain, DomainsFollowOneAnother) {
  if (!has_network_domain(g)) return;
  const Rank home{0};
  for (int round = 0; round < 6; ++round) {
    const auto domain = round % 2 == 0 ? AtomicDomain::network : AtomicDomain::processor;
    const auto memory = g.allocate(5000, domain);
    ASSERT_OK(memory.status());
    ASSERT_OK(g.fetch_and_add(memory->on(home), 1, Width::bits64, home).status());
    EXPECT_OK(g.barrier());
    const auto found = g.fetch_and_add(memory->on(home), 0, Width::bits64, home);
    ASSERT_OK(found.status());
    EXPECT_EQ(*found, g.size());
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.free(*memory));
  }
}

}  // namespace grapnel::test
