// Long data, which is sent by puts: lengths around the threshold and around pieces, in groups, uneven, beside other
// calls, and in the shared heap.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "base/units.hpp"
#include "collective/expected.hpp"
#include "collective/started.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kThreshold = 16 * base::kKiB;  // GRAPNEL_COLLECTIVE_LONG_BYTES
constexpr std::size_t kPiece = 256 * base::kKiB;

Reduction doubles() { return reduction(Operation::sum, NumberType::float64).value(); }

void join_and_compare(Runtime& g, const Group& group, std::uint64_t round, std::size_t count) {
  std::vector<Bytes> all;
  for (const Rank member : group.members()) {
    const auto numbers = numbers_of(member, round, count);
    const auto bytes = std::as_bytes(std::span(numbers));
    all.emplace_back(bytes.begin(), bytes.end());
  }
  const Bytes wanted = joined_by(g, group, doubles(), all);
  Bytes mine = all[static_cast<std::size_t>(group.index_of(g.rank()))], at_root(mine.size());
  const Rank root = group.members()[round % group.members().size()];
  ASSERT_OK(g.reduce(group, doubles(), mine.data(), at_root.data(), count, root));
  ASSERT_EQ(at_root, g.rank() == root ? wanted : Bytes(mine.size())) << count << " at " << index(root);
  ASSERT_OK(g.allreduce(group, doubles(), mine.data(), mine.data(), count));
  ASSERT_EQ(mine, wanted) << count;
}

/// Rank i sends rank j `bytes(i, j)`.
template <typename BytesOf>
void exchange_and_compare(Runtime& g, std::uint64_t round, BytesOf bytes) {
  const auto ranks = static_cast<std::size_t>(g.size()), me = index(g.rank());
  std::vector<std::size_t> to(ranks), from(ranks);
  Bytes outgoing, wanted;
  for (std::size_t other = 0; other < ranks; ++other) {
    to[other] = bytes(me, other);
    from[other] = bytes(other, me);
    const Bytes out = bytes_of(g.rank(), round + other, to[other]);
    const Bytes in = bytes_of(Rank{static_cast<int>(other)}, round + me, from[other]);
    outgoing.insert(outgoing.end(), out.begin(), out.end());
    wanted.insert(wanted.end(), in.begin(), in.end());
  }
  Bytes incoming(wanted.size());
  ASSERT_OK(g.alltoall(g.world(), outgoing.data(), to, incoming.data(), from));
  ASSERT_EQ(incoming, wanted);
}

}  // namespace

WORLD_TEST(LongCollectives, ArriveWhateverTheirLength) {
  std::uint64_t round = 0;
  for (const std::size_t bytes : {kThreshold - 1, kThreshold, kThreshold + 1, std::size_t{100'003}, kPiece, kPiece + 1,
                                  2 * kPiece + 1, 3 * kPiece - 7}) {
    ASSERT_NO_FATAL_FAILURE(broadcast_and_compare(g, g.world(), ++round, bytes));
    if (bytes <= kPiece + 1) {
      ASSERT_NO_FATAL_FAILURE(gather_and_compare(g, g.world(), round, bytes));
    }
  }
}

// A node's part of what all bring, just below and above the threshold, and not the same in all nodes.
WORLD_TEST(LongCollectives, AreJoinedInTheOrderPromised) {
  std::uint64_t round = 100;
  const std::size_t part = kThreshold / sizeof(double), nodes = static_cast<std::size_t>(g.node_count());
  for (const std::size_t count : {part * nodes - 1, part * nodes, part * nodes + 1, 3 * part * nodes + 2,
                                  std::size_t{40'001}, std::size_t{70'003}}) {
    ASSERT_NO_FATAL_FAILURE(join_and_compare(g, g.world(), ++round, count));
  }
}

// Some of what a rank sends and gets is empty, some short, some long, and not the same in both directions.
WORLD_TEST(LongCollectives, AlltoallOfUnequalLengths) {
  constexpr std::size_t kLengths[] = {0, 100, kThreshold - 1, kThreshold, 3 * kPiece + 5, 5000, 40'001};
  for (std::uint64_t round = 0; round < 4; ++round) {
    ASSERT_NO_FATAL_FAILURE(exchange_and_compare(g, 1000 * round, [&](std::size_t from, std::size_t to) {
      return kLengths[(3 * from + 5 * to + round) % std::size(kLengths)];
    }));
  }
  ASSERT_NO_FATAL_FAILURE(exchange_and_compare(g, 9000, [](std::size_t, std::size_t) { return kThreshold + 3; }));
}

// Each rank takes its groups in the same random order; their letters and rooms do not mix.
WORLD_TEST(LongCollectives, OfOverlappingGroupsDoNotMix) {
  const std::vector<Group> groups = groups_of(g);
  base::Random random(world_seed());
  for (std::uint64_t round = 0; round < 25; ++round) {
    const Group& group = groups[random.below(groups.size())];
    const std::uint64_t kind = random.below(3);
    const std::size_t bytes = random.chance(0.3) ? random.below(100) : kThreshold - 50 + random.below(2 * kPiece);
    if (!group.contains(g.rank())) continue;
    if (kind == 0) {
      ASSERT_NO_FATAL_FAILURE(join_and_compare(g, group, round, bytes / sizeof(double)));
    }
    if (kind == 1) {
      ASSERT_NO_FATAL_FAILURE(gather_and_compare(g, group, round, bytes / 2));
    }
    if (kind == 2) {
      ASSERT_NO_FATAL_FAILURE(broadcast_and_compare(g, group, round, bytes));
    }
  }
}

// Between the two halves of a barrier, beside puts, and while started calls are under way, whose data goes by letters.
WORLD_TEST(LongCollectives, BesidePutsBarriersAndStartedCalls) {
  auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(g.rank()) + 1) % g.size()};
  for (std::int64_t round = 0; round < 4; ++round) {
    const auto number = static_cast<std::uint64_t>(round);
    Started started = start_sum(g, g.world(), 100 + number, 9000);
    ASSERT_OK(g.put(&round, memory->on(next), sizeof round, next));
    ASSERT_NO_FATAL_FAILURE(broadcast_and_compare(g, g.world(), number, kPiece + 9));
    ASSERT_OK(g.begin_barrier());
    ASSERT_NO_FATAL_FAILURE(join_and_compare(g, g.world(), number, 20'000));
    ASSERT_OK(g.end_barrier());
    EXPECT_EQ(*static_cast<std::int64_t*>(memory->local()), round);
    ASSERT_OK(g.fence_all());
    ASSERT_NO_FATAL_FAILURE(started.wait_and_compare());
    ASSERT_OK(g.barrier());
  }
  ASSERT_OK(g.free(*memory));
}

// Of a broadcast: one announcement for each node, and for each piece a room, a put (in bulk) and the letter behind it.
WORLD_TEST(LongCollectives, SendFewMessages) {
  Bytes data(4 * kPiece);
  const std::uint64_t before = wire_messages(g, "broadcast");
  ASSERT_OK(g.broadcast(data.data(), data.size(), Rank{0}));
  std::int64_t sent = static_cast<std::int64_t>(wire_messages(g, "broadcast") - before), total = 0;
  ASSERT_OK(g.allreduce(reduction(Operation::sum, NumberType::int64).value(), &sent, &total, 1));
  EXPECT_EQ(total, (g.node_count() - 1) * (1 + 4 * 3));
}

// What is sent lies in pages that this node has not got; what comes, in pages that a write faults on.
WORLD_TEST_ALONE(LongCollectives, OfMemoryInTheSharedHeap) {
  if (!world_has_page_tables()) return;
  constexpr std::size_t kBytes = 100'000, kStride = 128 * base::kKiB;
  const auto ranks = static_cast<std::size_t>(g.size()), me = index(g.rank());
  auto opened = g.open_shared_heap({.bytes = 8 << 20, .locks = 4});
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  auto* const base = static_cast<std::byte*>(opened->base());
  const auto of_rank = [&](std::size_t rank, std::size_t which) { return base + (3 * rank + which) * kStride; };
  const Bytes mine = bytes_of(g.rank(), 1, kBytes);
  std::memcpy(of_rank(me, 0), mine.data(), kBytes);
  ASSERT_OK(opened->barrier());
  const std::size_t next = (me + 1) % ranks;
  Bytes all(ranks * kBytes);
  ASSERT_OK(g.allgather(of_rank(next, 0), all.data(), kBytes));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Bytes wanted = bytes_of(Rank{static_cast<int>((rank + 1) % ranks)}, 1, kBytes);
    ASSERT_EQ(std::memcmp(all.data() + rank * kBytes, wanted.data(), kBytes), 0) << rank;
  }
  const std::size_t count = kBytes / sizeof(std::uint64_t);
  const Reduction sum = reduction(Operation::sum, NumberType::uint64).value();
  ASSERT_OK(g.allreduce(sum, of_rank(next, 0), of_rank(me, 1), count));
  std::memcpy(of_rank(me, 2), of_rank(me, 1), kBytes);
  ASSERT_OK(g.broadcast(of_rank(me, 2), kBytes, Rank{g.size() - 1}));
  Bytes in_own(kBytes);
  ASSERT_OK(g.allreduce(sum, mine.data(), in_own.data(), count));
  EXPECT_EQ(std::memcmp(of_rank(me, 1), in_own.data(), count * sizeof(std::uint64_t)), 0);
  EXPECT_EQ(std::memcmp(of_rank(me, 2), in_own.data(), count * sizeof(std::uint64_t)), 0);
  ASSERT_OK(opened->barrier());
}

}  // namespace grapnel::test
