// Each collective against what one rank alone computes: sizes from nothing to many posts, roots, in place.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "collective/expected.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

// Nothing; less than a line; more than one; a post and a little; several posts and pieces.
const std::vector<std::size_t> kSizes = {0, 1, 8, 40, 1000, 32768, 32776, 150'000};

std::vector<Bytes> of_all(const Runtime& g, std::uint64_t round, std::size_t bytes) {
  std::vector<Bytes> all;
  for (int rank = 0; rank < g.size(); ++rank) all.push_back(bytes_of(Rank{rank}, round, bytes));
  return all;
}

}  // namespace

WORLD_TEST(Collectives, BroadcastReachesAll) {
  std::uint64_t round = 0;
  for (const std::size_t bytes : kSizes) {
    for (int root = 0; root < g.size(); ++root) {
      const Bytes wanted = bytes_of(Rank{root}, ++round, bytes);
      Bytes data = static_cast<int>(g.rank()) == root ? wanted : Bytes(bytes);
      ASSERT_OK(g.broadcast(data.data(), bytes, Rank{root}));
      ASSERT_EQ(data, wanted) << bytes << " bytes from " << root;
    }
  }
}

WORLD_TEST(Collectives, ReduceAndAllreduceJoinInTheOrderPromised) {
  const Reduction sum = reduction(Operation::sum, NumberType::float64).value();
  std::uint64_t round = 100;
  for (const std::size_t count : {0, 1, 3, 30, 1000, 5000, 20'000}) {
    ++round;
    std::vector<Bytes> all;
    for (int rank = 0; rank < g.size(); ++rank) {
      const auto numbers = numbers_of(Rank{rank}, round, count);
      const auto bytes = std::as_bytes(std::span(numbers));
      all.emplace_back(bytes.begin(), bytes.end());
    }
    const Bytes wanted = joined_by(g, g.world(), sum, all);
    const Bytes& mine = all[index(g.rank())];
    Bytes result(mine.size());
    ASSERT_OK(g.allreduce(sum, mine.data(), result.data(), count));
    ASSERT_EQ(result, wanted) << count;
    Bytes in_place = mine;
    ASSERT_OK(g.allreduce(sum, in_place.data(), in_place.data(), count));
    ASSERT_EQ(in_place, wanted) << count;
    const Rank root{static_cast<int>(round) % g.size()};
    const Bytes untouched(mine.size(), std::byte{77});
    result = untouched;
    ASSERT_OK(g.reduce(sum, mine.data(), result.data(), count, root));
    ASSERT_EQ(result, g.rank() == root ? wanted : untouched) << count << " at " << index(root);
  }
}

WORLD_TEST(Collectives, AllgatherAndAlltoallPutEachPieceInItsPlace) {
  std::uint64_t round = 200;
  const auto ranks = static_cast<std::size_t>(g.size()), me = index(g.rank());
  for (const std::size_t bytes : kSizes) {
    const std::vector<Bytes> all = of_all(g, ++round, bytes);
    Bytes gathered(ranks * bytes), in_place(ranks * bytes);
    ASSERT_OK(g.allgather(all[me].data(), gathered.data(), bytes));
    std::copy(all[me].begin(), all[me].end(), in_place.begin() + static_cast<std::ptrdiff_t>(me * bytes));
    ASSERT_OK(g.allgather(in_place.data() + me * bytes, in_place.data(), bytes));
    Bytes wanted;
    for (const Bytes& one : all) wanted.insert(wanted.end(), one.begin(), one.end());
    ASSERT_EQ(gathered, wanted) << bytes;
    ASSERT_EQ(in_place, wanted) << bytes;
  }
  // Rank i sends rank j 100·i + j bytes of its own.
  std::vector<std::size_t> to(ranks), from(ranks);
  Bytes outgoing, wanted;
  for (std::size_t other = 0; other < ranks; ++other) {
    to[other] = 100 * me + other;
    from[other] = 100 * other + me;
    const Bytes out = bytes_of(g.rank(), 300 + other, to[other]);
    const Bytes in = bytes_of(Rank{static_cast<int>(other)}, 300 + me, from[other]);
    outgoing.insert(outgoing.end(), out.begin(), out.end());
    wanted.insert(wanted.end(), in.begin(), in.end());
  }
  Bytes incoming(wanted.size());
  ASSERT_OK(g.alltoall(g.world(), outgoing.data(), to, incoming.data(), from));
  ASSERT_EQ(incoming, wanted);
  const std::vector<Bytes> equal = of_all(g, 400, ranks * 5000);
  Bytes all(ranks * 5000);
  ASSERT_OK(g.alltoall(equal[me].data(), all.data(), 5000));
  for (std::size_t other = 0; other < ranks; ++other) {
    ASSERT_EQ(std::memcmp(all.data() + 5000 * other, equal[other].data() + 5000 * me, 5000), 0) << other;
  }
}

// A root that only sends is stopped before its letters are too many; nothing is mixed up when ranks come late.
WORLD_TEST(Collectives, ManyInOneDirection) {
  const Reduction sum = reduction(Operation::sum, NumberType::int64).value();
  for (std::int64_t i = 0; i < 300; ++i) {
    std::int64_t value = g.rank() == Rank{0} ? i : -1, total = 0;
    ASSERT_OK(g.broadcast(&value, sizeof value, Rank{0}));
    ASSERT_EQ(value, i);
    if (i % 3 != 0) continue;
    value += static_cast<int>(g.rank());
    ASSERT_OK(g.reduce(sum, &value, &total, 1, Rank{g.size() - 1}));
    if (index(g.rank()) + 1 == static_cast<std::size_t>(g.size())) {
      ASSERT_EQ(total, i * g.size() + g.size() * (g.size() - 1) / 2);
    }
  }
}

WORLD_TEST(Collectives, BadArgumentsAreRefusedBeforeAnythingIsSent) {
  double x = 1;
  const Reduction sum = reduction(Operation::sum, NumberType::float64).value();
  EXPECT_CODE(Code::invalid_argument, g.broadcast(nullptr, 8, Rank{0}));
  EXPECT_CODE(Code::invalid_argument, g.broadcast(&x, 8, Rank{g.size()}));
  EXPECT_CODE(Code::invalid_argument, g.broadcast(Group(), &x, 8, Rank{0}));
  EXPECT_CODE(Code::invalid_argument, g.reduce(sum, &x, &x, 1, Rank{-1}));
  EXPECT_CODE(Code::invalid_argument, g.reduce({}, &x, &x, 1, Rank{0}));
  EXPECT_CODE(Code::invalid_argument, g.reduce({"huge", 40'000, sum.join}, &x, &x, 1, Rank{0}));
  EXPECT_CODE(Code::invalid_argument, g.allreduce(sum, &x, &x, SIZE_MAX / 4));
  EXPECT_CODE(Code::invalid_argument, g.allreduce(sum, &x, nullptr, 1));
  EXPECT_CODE(Code::invalid_argument, g.allgather(nullptr, &x, 8));
  const std::vector<std::size_t> none;
  EXPECT_CODE(Code::invalid_argument, g.alltoall(g.world(), &x, none, &x, none));
  EXPECT_CODE(Code::invalid_argument, g.allgather(&x, &x, SIZE_MAX - 7));
  const std::vector<std::size_t> huge(static_cast<std::size_t>(g.size()), SIZE_MAX / 2 + 1);  // two of them are 0
  EXPECT_CODE(Code::invalid_argument, g.alltoall(g.world(), &x, huge, &x, huge));
  ASSERT_OK(g.allreduce(sum, &x, &x, 1));
  EXPECT_EQ(x, g.size());
}

}  // namespace grapnel::test
