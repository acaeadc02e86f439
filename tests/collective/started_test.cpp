// Collectives in two steps: each with the bits of the blocking one, many at once, on groups that overlap, waited for in
// any order or not at all.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <vector>

#include "base/random.hpp"
#include "collective/started.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

/// Numbers of any type; which of two values that are no numbers a reduction keeps is not promised.
Bytes elements_of(Rank rank, std::uint64_t round, std::size_t bytes) {
  Bytes elements = bytes_of(rank, round, bytes);
  for (std::byte& byte : elements) byte &= std::byte{0x3f};
  return elements;
}

}  // namespace

WORLD_TEST(StartedCollectives, EachKindOnEachGroup) {
  const std::vector<Group> groups = groups_of(g);
  for (const std::size_t size : {0, 1, 40, 700, 9000}) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (std::uint64_t kind = 0; kind < 5 && groups[i].size() > 0; ++kind) {
        Started call = start_kind(g, groups[i], kind, 100 * size + 10 * i + kind, size);
        ASSERT_NO_FATAL_FAILURE(call.wait_and_compare()) << "kind " << kind << ", size " << size;
      }
    }
  }
}

// The blocking call's, for operations and types of each size and shape, in little and in much data.
WORLD_TEST(StartedCollectives, HaveTheBitsOfTheBlockingOnes) {
  const std::vector<std::pair<Operation, NumberType>> kinds = {
      {Operation::sum, NumberType::float32},
      {Operation::product, NumberType::complex128},
      {Operation::minimum_with_place, NumberType::float64_with_place},
      {Operation::largest_absolute, NumberType::int16},
      {Operation::sum, NumberType::int64},
      {Operation::bit_xor, NumberType::uint8}};
  std::uint64_t round = 0;
  for (const auto& [operation, type] : kinds) {
    const Reduction made = reduction(operation, type).value();
    for (const std::size_t count : {1, 77, 6000}) {
      const Bytes mine = elements_of(g.rank(), ++round, count * made.element_bytes);
      Bytes blocking(mine.size()), started(mine.size()), at_root(mine.size());
      const Rank root{static_cast<int>(round) % g.size()};
      auto call = g.start_allreduce(made, mine.data(), started.data(), count);
      ASSERT_OK(call.status());
      auto to_root = g.start_reduce(made, mine.data(), at_root.data(), count, root);
      ASSERT_OK(to_root.status());
      ASSERT_OK(g.allreduce(made, mine.data(), blocking.data(), count));
      ASSERT_OK(call->wait());
      ASSERT_OK(to_root->wait());
      ASSERT_EQ(started, blocking) << made.name << ", " << count;
      if (g.rank() == root) {
        ASSERT_EQ(at_root, blocking) << made.name << ", " << count;
      }
    }
  }
}

// All start in one order; each waits in an order of its own.
WORLD_TEST(StartedCollectives, ManyOfOverlappingGroupsAtOnce) {
  const std::vector<Group> groups = groups_of(g);
  base::Random together(world_seed()), alone(world_seed() + 1 + index(g.rank()));
  std::vector<Started> pending;
  const auto wait_for_one = [&] {
    const std::size_t which = alone.below(pending.size());
    pending[which].wait_and_compare();
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(which));
  };
  for (std::uint64_t round = 0; round < 80; ++round) {
    const Group& group = groups[together.below(groups.size())];
    const std::uint64_t kind = together.below(5);
    const std::size_t size = together.chance(0.1) ? 3000 + together.below(6000) : together.below(20);
    if (group.contains(g.rank())) pending.push_back(start_kind(g, group, kind, round, size));
    while (pending.size() > 12) ASSERT_NO_FATAL_FAILURE(wait_for_one());
  }
  while (!pending.empty()) ASSERT_NO_FATAL_FAILURE(wait_for_one());
}

// Half of the ranks wait in the opposite order; of calls that are far longer than an inbox.
WORLD_TEST(StartedCollectives, WaitedForInOppositeOrders) {
  for (const std::size_t count : {3, 20'000}) {
    Started first = start_sum(g, g.world(), 1, count), second = start_sum(g, g.world(), 2, count);
    Started third = start_alltoall(g, g.world(), 3, count / 10);
    const bool turned = index(g.rank()) % 2 == 1;
    ASSERT_NO_FATAL_FAILURE((turned ? third : first).wait_and_compare());
    ASSERT_NO_FATAL_FAILURE(second.wait_and_compare());
    ASSERT_NO_FATAL_FAILURE((turned ? first : third).wait_and_compare());
  }
}

WORLD_TEST(StartedCollectives, AreTestedUntilTheyAreOver) {
  Started call = start_sum(g, g.world(), 7, 5000);
  for (bool done = false; !done;) {
    const Result<bool> tested = call.call.test();
    ASSERT_OK(tested.status());
    done = *tested;
  }
  EXPECT_FALSE(call.call.pending());
  EXPECT_EQ(call.result, call.wanted);
  PendingCollective none;
  EXPECT_FALSE(none.pending());
  EXPECT_TRUE(none.test().value());
  EXPECT_OK(none.wait());
}

// Those that are let go are done all the same, and write nothing; the last ones by the end of the test's runtime.
WORLD_TEST(StartedCollectives, MayBeLetGo) {
  const Bytes untouched(8000, std::byte{9});
  Bytes result = untouched;
  const Bytes mine = numbers_as_bytes(g.rank(), 3, 1000);
  {
    auto dropped = g.start_allreduce(sum_of_doubles(), mine.data(), result.data(), 1000);
    ASSERT_OK(dropped.status());
    auto replaced = g.start_allreduce(sum_of_doubles(), mine.data(), result.data(), 1000);
    ASSERT_OK(replaced.status());
    *replaced = PendingCollective();
  }
  ASSERT_NO_FATAL_FAILURE(start_sum(g, g.world(), 4, 1000).wait_and_compare());
  EXPECT_EQ(result, untouched);
  for (int i = 0; i < 3; ++i) EXPECT_OK(g.start_allgather(mine.data(), Bytes(8000 * 8).data(), 1000).status());
}

WORLD_TEST(StartedCollectives, BadArgumentsAreRefusedBeforeAnythingIsSent) {
  double x = 1, y = 0;
  const Reduction& sum = sum_of_doubles();
  EXPECT_CODE(Code::invalid_argument, g.start_broadcast(nullptr, 8, Rank{0}).status());
  EXPECT_CODE(Code::invalid_argument, g.start_broadcast(&x, 8, Rank{g.size()}).status());
  EXPECT_CODE(Code::invalid_argument, g.start_broadcast(Group(), &x, 8, Rank{0}).status());
  EXPECT_CODE(Code::invalid_argument, g.start_reduce(sum, &x, &x, 1, Rank{-1}).status());
  EXPECT_CODE(Code::invalid_argument, g.start_allreduce({}, &x, &x, 1).status());
  EXPECT_CODE(Code::invalid_argument, g.start_allreduce(sum, &x, nullptr, 1).status());
  EXPECT_CODE(Code::invalid_argument, g.start_allgather(nullptr, &x, 8).status());
  const std::vector<std::size_t> none;
  EXPECT_CODE(Code::invalid_argument, g.start_alltoall(g.world(), &x, none, &x, none).status());
  EXPECT_CODE(Code::invalid_argument, g.start_allgather(&x, &x, SIZE_MAX - 7).status());
  const std::vector<std::size_t> huge(static_cast<std::size_t>(g.size()), SIZE_MAX / 2 + 1);  // two of them are 0
  EXPECT_CODE(Code::invalid_argument, g.start_alltoall(g.world(), &x, huge, &x, huge).status());
  auto call = g.start_allreduce(sum, &x, &y, 1);
  ASSERT_OK(call.status());
  ASSERT_OK(call->wait());
  EXPECT_EQ(y, g.size());
}

// As many messages as a blocking one.
WORLD_TEST(StartedCollectives, AnAllreduceOfOneNumberIsADissemination) {
  const int rounds = std::bit_width(static_cast<unsigned>(g.node_count() - 1));
  bool leads = true;
  for (int rank = 0; rank < static_cast<int>(g.rank()); ++rank) leads &= g.node_of(Rank{rank}) != g.node();
  const std::uint64_t before = wire_messages(g, "allreduce");
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_NO_FATAL_FAILURE(start_sum(g, g.world(), i, 1).wait_and_compare());
  EXPECT_EQ(wire_messages(g, "allreduce") - before, leads ? 10U * static_cast<unsigned>(rounds) : 0U);
}

}  // namespace grapnel::test
