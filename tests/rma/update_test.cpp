// Updates: each operation on each type as the plain reduction gives it; atomic for each element, with all that updates.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <set>
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {
namespace {

Bytes random_bytes(Rank rank, std::uint64_t round, std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(pattern(rank, round, i));
  return bytes;
}

std::byte* at(const Memory& memory, Rank rank, std::size_t offset) {
  return static_cast<std::byte*>(memory.on(rank)) + offset;
}

}  // namespace

// Each rank updates a part of its own in the next one's memory, at an odd address, over several stripes. The pairs of
// operation and type go around the ranks.
WORLD_TEST(Updates, EveryOperationOnEveryType) {
  constexpr std::size_t kCount = 300, kPart = kCount * kMostElementBytes + 1;
  const auto memory = g.allocate(kPart * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  const std::size_t mine = kPart * index(g.rank()) + 1;
  const Rank target{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  for (int type = 0; type < kNumberTypes; ++type) {
    for (int operation = 0; operation < kOperations; ++operation) {
      const auto kernel = reduction(Operation(operation), NumberType(type));
      const bool is_mine = (type + operation) % g.size() == static_cast<int>(index(g.rank()));
      if (!is_mine || !kernel || kernel->prepare != nullptr) continue;
      const std::size_t bytes = kCount * kernel->element_bytes;
      const auto round = static_cast<std::uint64_t>(type * kOperations + operation);
      const Bytes before = random_bytes(g.rank(), 2 * round, bytes),
                  operands = random_bytes(g.rank(), 2 * round + 1, bytes);
      Bytes expected = before, found(bytes), after(bytes);
      kernel->join(expected.data(), operands.data(), kCount);
      ASSERT_OK(g.put(before.data(), at(*memory, target, mine), bytes, target));
      ASSERT_OK(g.fetch_and_update(Operation(operation), NumberType(type), operands.data(), found.data(),
                                   at(*memory, target, mine), kCount, target));
      ASSERT_OK(g.get(at(*memory, target, mine), after.data(), bytes, target));
      EXPECT_EQ(found, before) << kernel->name;
      EXPECT_EQ(after, expected) << kernel->name;
      ASSERT_OK(g.put(before.data(), at(*memory, target, mine), bytes, target));
      ASSERT_OK(
          g.update(Operation(operation), NumberType(type), operands.data(), at(*memory, target, mine), kCount, target));
      ASSERT_OK(g.get(at(*memory, target, mine), after.data(), bytes, target));
      EXPECT_EQ(after, expected) << kernel->name;
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// Fetched sums give each ticket once, beside updates and accumulates of the same word.
WORLD_TEST(Updates, ASumThatFetchesGivesEveryTicketOnce) {
  const auto memory = g.allocate(8);
  ASSERT_TRUE(memory.ok());
  constexpr int kEach = 25;
  const std::int64_t one = 1, many = std::int64_t{1} << 32;
  std::set<std::int64_t> tickets;
  for (int i = 0; i < kEach; ++i) {
    std::int64_t ticket = -1;
    ASSERT_OK(g.fetch_and_update(Operation::sum, NumberType::int64, &one, &ticket, memory->on(Rank{0}), 1, Rank{0}));
    EXPECT_TRUE(tickets.insert(ticket % many).second) << ticket;
    EXPECT_OK(g.accumulate(ElementType::int64, nullptr, &many, memory->on(Rank{0}), 8, Rank{0}));
    EXPECT_OK(g.update(Operation::sum, NumberType::uint64, &many, memory->on(Rank{0}), 1, Rank{0}));
  }
  EXPECT_OK(g.barrier());
  std::int64_t total = 0;
  EXPECT_OK(g.fetch_and_update(Operation::none, NumberType::int64, nullptr, &total, memory->on(Rank{0}), 1, Rank{0}));
  EXPECT_EQ(total, kEach * g.size() * (2 * many + 1));
  // All tickets of all ranks are 0 … n − 1.
  std::int64_t sum = 0;
  for (const std::int64_t ticket : tickets) sum += ticket;
  const Reduction add = *reduction(Operation::sum, NumberType::int64);
  std::int64_t sums = 0;
  EXPECT_OK(g.allreduce(add, &sum, &sums, 1));
  const std::int64_t count = kEach * g.size();
  EXPECT_EQ(sums, count * (count - 1) / 2);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// A complex number that lies in two stripes is read and replaced whole.
WORLD_TEST(Updates, NoElementIsTorn) {
  const auto memory = g.allocate(16384);
  ASSERT_TRUE(memory.ok());
  const Rank target{g.size() - 1};
  const auto base = reinterpret_cast<std::uintptr_t>(memory->on(target));
  auto* const place = reinterpret_cast<std::byte*>((base + 8191) / 4096 * 4096 - 8);
  for (int i = 0; i < 40; ++i) {
    const double part = static_cast<int>(g.rank()) + 100.0 * i, number[2] = {part, part};
    double seen[2] = {-1, -2};
    ASSERT_OK(g.fetch_and_update(Operation::replace, NumberType::complex128, number, seen, place, 1, target));
    EXPECT_EQ(seen[0], seen[1]);
    ASSERT_OK(g.update(Operation::replace, NumberType::complex128, number, place, 1, target));
    ASSERT_OK(g.fetch_and_update(Operation::none, NumberType::complex128, nullptr, seen, place, 1, target));
    EXPECT_EQ(seen[0], seen[1]);
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Updates, LongOnesComeBackWhole) {
  constexpr std::size_t kCount = 40000;
  const auto memory = g.allocate(8 * kCount + 8);
  ASSERT_TRUE(memory.ok());
  const std::vector<std::int64_t> ones(kCount, 1);
  std::vector<std::int64_t> found(kCount, -1);
  const Rank target{g.size() - 1};
  ASSERT_OK(g.fetch_and_update(Operation::sum, NumberType::int64, ones.data(), found.data(), at(*memory, target, 4),
                               kCount, target));
  for (const std::int64_t number : found) ASSERT_TRUE(number >= 0 && number < g.size()) << number;
  EXPECT_OK(g.barrier());
  ASSERT_OK(g.fetch_and_update(Operation::none, NumberType::int64, nullptr, found.data(), at(*memory, target, 4),
                               kCount, target));
  EXPECT_EQ(found, std::vector<std::int64_t>(kCount, g.size()));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Updates, StartedOnesJoinAHandle) {
  constexpr int kStarted = 20;
  const auto memory = g.allocate(8 * kStarted);
  ASSERT_TRUE(memory.ok());
  const Rank target{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  std::int64_t found[kStarted], numbers[kStarted];
  Handle handle;
  for (int i = 0; i < kStarted; ++i) {
    numbers[i] = 10 + i;
    found[i] = -1;
    const auto place = at(*memory, target, 8 * static_cast<std::size_t>(i));
    ASSERT_OK(g.start_update(Operation::sum, NumberType::int64, &numbers[i], place, 1, target, &handle));
    ASSERT_OK(g.start_fetch_and_update(Operation::maximum, NumberType::int64, &numbers[i], &found[i], place, 1, target,
                                       &handle));
  }
  EXPECT_OK(g.wait(handle));
  for (int i = 0; i < kStarted; ++i) EXPECT_EQ(found[i], 10 + i);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// Counts by retries, at an address that lies in two stripes, in each width.
WORLD_TEST(Updates, ACompareCountsLikeALock) {
  const auto memory = g.allocate(16384);
  ASSERT_TRUE(memory.ok());
  const auto base = reinterpret_cast<std::uintptr_t>(memory->on(Rank{0}));
  for (const std::size_t bytes : {1, 2, 4, 8}) {
    auto* const place = reinterpret_cast<std::byte*>((base + 8191) / 4096 * 4096 - (bytes + 1) / 2);
    constexpr int kEach = 6;
    for (int done = 0; done < kEach;) {
      std::uint64_t seen = 0, found = 0;
      const std::uint64_t nothing = 0;
      ASSERT_OK(g.compare_and_update(&nothing, &nothing, &seen, place, bytes, Rank{0}));
      const std::uint64_t next = seen + 1;
      ASSERT_OK(g.compare_and_update(&seen, &next, &found, place, bytes, Rank{0}));
      if (found == seen) ++done;
    }
    EXPECT_OK(g.barrier());
    std::uint64_t total = 0;
    EXPECT_OK(g.get(place, &total, bytes, Rank{0}));
    EXPECT_EQ(total, static_cast<std::uint64_t>(kEach * g.size()));
    EXPECT_OK(g.barrier());
    if (index(g.rank()) == 0) std::memset(memory->local(), 0, 16384);
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Updates, MistakesAreNamed) {
  const auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  double number = 1, found = 0;
  for (int rank = 0; rank < g.size(); ++rank) {
    void* const place = memory->on(Rank{rank});
    const auto wrong = [&](Operation operation, NumberType type, const void* source, void* remote) {
      return g.fetch_and_update(operation, type, source, &found, remote, 1, Rank{rank}).code();
    };
    EXPECT_EQ(wrong(Operation::bit_and, NumberType::float64, &number, place), Code::invalid_argument);
    EXPECT_EQ(wrong(Operation::least_absolute, NumberType::float64, &number, place), Code::invalid_argument);
    EXPECT_EQ(wrong(Operation::sum, NumberType::float64, nullptr, place), Code::invalid_argument);
    EXPECT_EQ(wrong(Operation::sum, NumberType::float64, &number, &found), Code::invalid_argument);
    EXPECT_EQ(g.fetch_and_update(Operation::sum, NumberType::float64, &number, nullptr, place, 1, Rank{rank}).code(),
              Code::invalid_argument);
    EXPECT_EQ(g.compare_and_update(&number, &number, &found, place, 3, Rank{rank}).code(), Code::invalid_argument);
    EXPECT_EQ(g.compare_and_update(&number, &number, &found, place, 16, Rank{rank}).code(), Code::invalid_argument);
    EXPECT_OK(g.update(Operation::sum, NumberType::float64, &number, nullptr, 0, Rank{rank}));
  }
  EXPECT_EQ(g.update(Operation::sum, NumberType::float64, &number, memory->local(), 1, Rank{g.size()}).code(),
            Code::invalid_argument);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
