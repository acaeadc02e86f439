// Collectives that a test has started, with what should come of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "collective/expected.hpp"
#include "grapnel/runtime.hpp"
#include "harness/world.hpp"

namespace grapnel::test {

/// A call that was started, where its result goes, and what that should be. Its bytes stay in place when it moves.
struct Started {
  PendingCollective call;
  Bytes result, wanted;

  void wait_and_compare() {
    ASSERT_OK(call.wait());
    ASSERT_FALSE(call.pending());
    ASSERT_EQ(result, wanted);
  }
};

template <typename Start>
Started started(Bytes result, Bytes wanted, Start start) {
  Started made{{}, std::move(result), std::move(wanted)};
  Result<PendingCollective> call = start(made.result.data());
  EXPECT_TRUE(call.ok()) << call.status().to_string();
  if (call.ok()) made.call = *std::move(call);
  return made;
}

inline Bytes numbers_as_bytes(Rank rank, std::uint64_t round, std::size_t count) {
  const auto numbers = numbers_of(rank, round, count);
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

inline std::vector<Bytes> numbers_of_all(const Group& group, std::uint64_t round, std::size_t count) {
  std::vector<Bytes> all;
  for (const Rank member : group.members()) all.push_back(numbers_as_bytes(member, round, count));
  return all;
}

inline const Reduction& sum_of_doubles() {
  static const Reduction sum = reduction(Operation::sum, NumberType::float64).value();
  return sum;
}

inline Started start_sum(Runtime& g, const Group& group, std::uint64_t round, std::size_t count) {
  const std::vector<Bytes> all = numbers_of_all(group, round, count);
  Bytes mine = all[static_cast<std::size_t>(group.index_of(g.rank()))];
  return started(mine, joined_by(g, group, sum_of_doubles(), all), [&](std::byte* in_place) {
    auto call = g.start_allreduce(group, sum_of_doubles(), mine.data(), in_place, count);
    std::fill(mine.begin(), mine.end(), std::byte{0x5a});  // the source is the caller's again
    return call;
  });
}

inline Started start_reduce(Runtime& g, const Group& group, std::uint64_t round, std::size_t count) {
  const std::vector<Bytes> all = numbers_of_all(group, round, count);
  const Bytes& mine = all[static_cast<std::size_t>(group.index_of(g.rank()))];
  const Rank root = group.members()[round % group.members().size()];
  const Bytes untouched(mine.size(), std::byte{77});
  return started(untouched, g.rank() == root ? joined_by(g, group, sum_of_doubles(), all) : untouched,
                 [&](std::byte* to) { return g.start_reduce(group, sum_of_doubles(), mine.data(), to, count, root); });
}

inline Started start_broadcast(Runtime& g, const Group& group, std::uint64_t round, std::size_t bytes) {
  const Rank root = group.members()[round % group.members().size()];
  const Bytes wanted = bytes_of(root, round, bytes);
  return started(g.rank() == root ? wanted : Bytes(bytes), wanted,
                 [&](std::byte* data) { return g.start_broadcast(group, data, bytes, root); });
}

inline Started start_allgather(Runtime& g, const Group& group, std::uint64_t round, std::size_t bytes) {
  Bytes wanted;
  for (const Rank member : group.members()) {
    const Bytes one = bytes_of(member, round, bytes);
    wanted.insert(wanted.end(), one.begin(), one.end());
  }
  const Bytes mine = bytes_of(g.rank(), round, bytes);
  return started(Bytes(wanted.size()), wanted,
                 [&](std::byte* to) { return g.start_allgather(group, mine.data(), to, bytes); });
}

// Member i sends member j bytes·i + j bytes of its own.
inline Started start_alltoall(Runtime& g, const Group& group, std::uint64_t round, std::size_t bytes) {
  const auto members = group.members();
  const auto me = static_cast<std::size_t>(group.index_of(g.rank()));
  std::vector<std::size_t> to, from;
  Bytes out, wanted;
  for (std::size_t other = 0; other < members.size(); ++other) {
    to.push_back(bytes * me + other);
    from.push_back(bytes * other + me);
    const Bytes sent = bytes_of(g.rank(), 1000 * round + other, to.back());
    const Bytes received = bytes_of(members[other], 1000 * round + me, from.back());
    out.insert(out.end(), sent.begin(), sent.end());
    wanted.insert(wanted.end(), received.begin(), received.end());
  }
  return started(Bytes(wanted.size()), wanted,
                 [&](std::byte* in) { return g.start_alltoall(group, out.data(), to, in, from); });
}

inline Started start_kind(Runtime& g, const Group& group, std::uint64_t kind, std::uint64_t round, std::size_t size) {
  switch (kind % 5) {
    case 0: return start_sum(g, group, round, size);
    case 1: return start_reduce(g, group, round, size);
    case 2: return start_broadcast(g, group, round, size);
    case 3: return start_allgather(g, group, round, size);
    default: return start_alltoall(g, group, round, size);
  }
}

}  // namespace grapnel::test
