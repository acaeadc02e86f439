// Long data of started calls inside a node, which its receivers copy from where the sender has it: lengths around the
// threshold and around pieces, several calls at once, memory that is used again, and none.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/units.hpp"
#include "collective/shown_memory.hpp"
#include "collective/started.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kThreshold = 16 * base::kKiB;  // GRAPNEL_COLLECTIVE_LONG_BYTES
constexpr std::size_t kPiece = 64 * base::kKiB;
constexpr std::uint64_t kKinds = 5;

/// What makes the longest message of that kind (start_kind) so long.
std::size_t size_of(const Runtime& g, std::uint64_t kind, std::size_t bytes) {
  const auto last = static_cast<std::size_t>(std::max(g.size() - 1, 1));
  return kind < 2 ? bytes / sizeof(double) : kind == 4 ? bytes / last : bytes;
}

}  // namespace

WORLD_TEST(ShownData, ArrivesWhateverItsLength) {
  std::uint64_t round = 0;
  for (const std::size_t bytes : {kThreshold - 8, kThreshold, kPiece + 8, 2 * kPiece}) {
    for (std::uint64_t kind = 0; kind < kKinds; ++kind) {
      Started call = start_kind(g, g.world(), kind, ++round, size_of(g, kind, bytes));
      ASSERT_NO_FATAL_FAILURE(call.wait_and_compare()) << "kind " << kind << ", " << bytes;
    }
  }
}

// Waited for from the last to the first: a call is over only when all that it shows was copied.
WORLD_TEST(ShownData, OfManyCallsAtOnce) {
  for (std::uint64_t round = 0; round < 2; ++round) {
    std::vector<Started> calls;
    for (std::uint64_t i = 0; i < 2 * kKinds; ++i) {
      calls.push_back(
          start_kind(g, g.world(), i, 100 * round + i, size_of(g, i % kKinds, (1 + i % 6) * kThreshold / 2)));
    }
    while (!calls.empty()) {
      ASSERT_NO_FATAL_FAILURE(calls.back().wait_and_compare()) << calls.size();
      calls.pop_back();
    }
  }
}

// A call that is let go, and one that is waited for late: their memory stays until both are over.
WORLD_TEST(ShownData, OfCallsThatAreLetGo) {
  for (std::uint64_t round = 0; round < 8; ++round) {
    Started late = start_sum(g, g.world(), round, 5000);
    { Started dropped = start_allgather(g, g.world(), 1000 + round, kThreshold); }
    ASSERT_NO_FATAL_FAILURE(start_broadcast(g, g.world(), 2000 + round, 2 * kThreshold).wait_and_compare());
    ASSERT_NO_FATAL_FAILURE(late.wait_and_compare());
  }
}

WORLD_TEST(ShownMemory, IsKeptForTheNextCalls) {
  collective::ShownMemory memory(*g.implementation().core);
  const auto first = memory.take(100'000);
  ASSERT_OK(first.status());
  EXPECT_GE(first->bytes, 100'000U);
  std::fill_n(first->begin, 100'000, std::byte{1});
  const auto second = memory.take(100'000);
  ASSERT_OK(second.status());
  EXPECT_NE(second->begin, first->begin);
  memory.give_back(*first);
  const auto small = memory.take(1'000);
  ASSERT_OK(small.status());
  EXPECT_NE(small->begin, first->begin) << "much too large";
  const auto again = memory.take(90'000);
  ASSERT_OK(again.status());
  EXPECT_EQ(again->begin, first->begin);
  EXPECT_CODE(Code::no_memory, memory.take(std::size_t{1} << 45).status());
  for (const auto& block : {*second, *small, *again}) memory.give_back(block);
}

TEST(CallMemory, LeavesItsSegmentWithItsContent) {
  collective::CallMemory memory(1000), other(10);
  std::fill_n(memory.data(), 1000, std::byte{7});
  const std::byte* const before = memory.data();
  memory.leave_segment();
  EXPECT_EQ(memory.data(), before) << "it is in none";
  other = std::move(memory);
  EXPECT_EQ(other.size(), 1000U);
  EXPECT_EQ(other.data()[999], std::byte{7});
}

}  // namespace grapnel::test
