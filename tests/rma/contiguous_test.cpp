// Contiguous put, get, accumulate and their order, from every rank to every rank.
// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <cstring>
#include <vector>

#include "harness/world.hpp"
#include "rma/stripes.hpp"

namespace grapnel::test {
namespace {

// One slot of `slot_bytes` per origin in every rank's memory.
std::byte* slot(const Memory& memory, Rank target, Rank origin, std::size_t slot_bytes) {
  return static_cast<std::byte*>(memory.on(target)) + index(origin) * slot_bytes;
}

std::vector<std::byte> filled(Rank origin, std::uint64_t round, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  base::Random random(pattern(origin, round, bytes));
  for (std::byte& one : data) one = static_cast<std::byte>(random.next());
  return data;
}

}  // namespace

WORLD_TEST(Contiguous, PutThenGetFromEverybody) {
  constexpr std::size_t kSizes[] = {1, 7, 8, 64, 1000, 4096, 65536, 65537, 200001};
  constexpr std::size_t kSlot = 200704;
  const auto allocated = g.allocate(kSlot * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(allocated.ok()) << allocated.status().to_string();
  const Memory& memory = *allocated;
  for (std::uint64_t round = 0; round < std::size(kSizes); ++round) {
    const std::size_t bytes = kSizes[round];
    for (int target = 0; target < g.size(); ++target) {
      const auto data = filled(g.rank(), round + static_cast<std::uint64_t>(target), bytes);
      EXPECT_OK(g.put(data.data(), slot(memory, Rank{target}, g.rank(), kSlot), bytes, Rank{target}));
      // Location consistency: a get after a put of the same rank sees it, without a fence.
      std::vector<std::byte> back(bytes);
      EXPECT_OK(g.get(slot(memory, Rank{target}, g.rank(), kSlot), back.data(), bytes, Rank{target}));
      EXPECT_EQ(back, data) << bytes << " bytes at rank " << target;
    }
    EXPECT_OK(g.barrier());
    for (int origin = 0; origin < g.size(); ++origin) {
      const auto data = filled(Rank{origin}, round + index(g.rank()), bytes);
      EXPECT_EQ(std::memcmp(slot(memory, g.rank(), Rank{origin}, kSlot), data.data(), bytes), 0)
          << bytes << " bytes from rank " << origin;
    }
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(memory));
}

// What it completes: fence_visibility_test.cpp.
WORLD_TEST(Contiguous, FencesMayFollowEachOther) {
  const auto memory = g.allocate(sizeof(std::uint64_t) * 2);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const std::uint64_t value = pattern(g.rank(), round, 0);
    EXPECT_OK(g.put(&value, memory->on(next), sizeof value, next));
    EXPECT_OK(g.fence(next));
    // A second fence has nothing to ask; a third, of all ranks, neither.
    EXPECT_OK(g.fence(next));
    EXPECT_OK(g.fence_all());
    EXPECT_OK(g.barrier());
    const Rank previous{(static_cast<int>(index(g.rank())) + g.size() - 1) % g.size()};
    EXPECT_EQ(*static_cast<std::uint64_t*>(memory->local()), pattern(previous, round, 0));
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Contiguous, OrderOfPutAccumulateGetIsTheProgramsOwn) {
  const auto memory = g.allocate(sizeof(double) * static_cast<std::size_t>(g.size()) * 64);
  ASSERT_TRUE(memory.ok());
  for (int round = 0; round < 10; ++round) {
    for (int target = 0; target < g.size(); ++target) {
      auto* place = static_cast<double*>(memory->on(Rank{target})) + index(g.rank()) * 64;
      double values[64], ones[64], back[64];
      for (int i = 0; i < 64; ++i) values[i] = round * 1000 + i, ones[i] = 1;
      const double factor = 3;
      EXPECT_OK(g.put(values, place, sizeof values, Rank{target}));
      EXPECT_OK(g.accumulate(ElementType::float64, &factor, ones, place, sizeof ones, Rank{target}));
      EXPECT_OK(g.get(place, back, sizeof back, Rank{target}));
      for (int i = 0; i < 64; ++i) EXPECT_EQ(back[i], values[i] + 3) << i;
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Contiguous, AccumulatesOfAllRanksAddUp) {
  // Every rank adds to the same elements of every rank, in pieces that straddle stripes.
  constexpr std::size_t kElements = 3000;
  const auto memory = g.allocate(kElements * sizeof(std::int64_t));
  ASSERT_TRUE(memory.ok());
  constexpr int kRounds = 6;
  std::vector<std::int64_t> addend(kElements);
  for (std::size_t i = 0; i < kElements; ++i) addend[i] = static_cast<std::int64_t>(i + index(g.rank()));
  const std::int64_t factor = 2;
  for (int round = 0; round < kRounds; ++round) {
    for (int target = 0; target < g.size(); ++target) {
      EXPECT_OK(g.accumulate(ElementType::int64, &factor, addend.data(), memory->on(Rank{target}),
                             kElements * sizeof(std::int64_t), Rank{target}));
    }
  }
  EXPECT_OK(g.barrier());
  const auto* mine = static_cast<const std::int64_t*>(memory->local());
  const auto ranks = static_cast<std::int64_t>(g.size());
  for (std::size_t i = 0; i < kElements; ++i) {
    const std::int64_t sum = ranks * static_cast<std::int64_t>(i) + ranks * (ranks - 1) / 2;
    ASSERT_EQ(mine[i], kRounds * factor * sum) << i;
  }
  EXPECT_OK(g.free(*memory));
}

// Complex numbers and doubles over each other, and over the end of a stripe.
WORLD_TEST_ON(Contiguous, AccumulatesOfDifferentTypesAddUp, shapes_from(2)) {
  constexpr std::size_t kStripe = rma::Stripes::kStripeBytes;
  constexpr int kTimes = 400;
  const auto memory = g.allocate(index(g.rank()) == 0 ? 3 * kStripe : 0);
  ASSERT_TRUE(memory.ok());
  const auto begin = reinterpret_cast<std::uintptr_t>(memory->on(Rank{0}));
  auto* const end = reinterpret_cast<double*>((begin / kStripe + 2) * kStripe);
  const double one[2] = {1, 1};
  const bool complex = index(g.rank()) % 2 != 0;
  for (int i = 0; i < kTimes; ++i) {
    if (complex) {
      EXPECT_OK(g.accumulate(ElementType::complex128, nullptr, one, end - 1, sizeof one, Rank{0}));
    } else {
      EXPECT_OK(g.accumulate(ElementType::float64, nullptr, one, end, sizeof *one, Rank{0}));
    }
  }
  EXPECT_OK(g.fence(Rank{0}));
  EXPECT_OK(g.barrier());
  if (index(g.rank()) == 0) {
    const int complex_ones = g.size() / 2;
    EXPECT_EQ(end[-1], kTimes * complex_ones);
    EXPECT_EQ(end[0], kTimes * g.size());
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST_ON(Contiguous, EveryElementType, (std::vector<Shape>{{1, 1}, {2, 2}})) {
  const auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  const Rank last{g.size() - 1};
  const auto check = [&](auto one, ElementType type, auto factor, auto expected) {
    EXPECT_OK(g.barrier());
    if (index(g.rank()) == 0) {
      const decltype(one) zero{};
      EXPECT_OK(g.put(&zero, memory->on(last), sizeof zero, last));
      EXPECT_OK(g.accumulate(type, &factor, &one, memory->on(last), sizeof one, last));
      EXPECT_OK(g.accumulate(type, nullptr, &one, memory->on(last), sizeof one, last));
      decltype(one) back{};
      EXPECT_OK(g.get(memory->on(last), &back, sizeof back, last));
      EXPECT_EQ(back, expected);
    }
  };
  check(std::int32_t{5}, ElementType::int32, std::int32_t{-3}, std::int32_t{-10});
  check(std::int64_t{5}, ElementType::int64, std::int64_t{-3}, std::int64_t{-10});
  check(1.5f, ElementType::float32, 2.0f, 4.5f);
  check(1.5, ElementType::float64, 2.0, 4.5);
  using C = std::complex<float>;
  using Z = std::complex<double>;
  check(C(1, 2), ElementType::complex64, C(0, 1), C(-1, 3));
  check(Z(1, 2), ElementType::complex128, Z(0, 1), Z(-1, 3));
  check(std::int64_t{5}, ElementType::xor64, std::int64_t{-3}, std::int64_t{0});
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Contiguous, BadInputIsRefusedAndTouchesNothing) {
  const auto memory = g.allocate(4096);
  ASSERT_TRUE(memory.ok());
  const Rank target{g.size() - 1};
  auto* place = static_cast<std::byte*>(memory->on(target));
  char data[64] = {};
  EXPECT_CODE(Code::invalid_argument, g.put(data, place, 8, Rank{g.size()}));
  EXPECT_CODE(Code::invalid_argument, g.put(data, place, 8, Rank{-1}));
  EXPECT_CODE(Code::invalid_argument, g.put(data, place + 4096 - 4 + (std::size_t{1} << 32), 8, target));
  EXPECT_CODE(Code::invalid_argument, g.get(nullptr, data, 8, target));
  EXPECT_CODE(Code::invalid_argument, g.put(data, data, sizeof data, target));
  EXPECT_CODE(Code::invalid_argument, g.put(data, place, SIZE_MAX, target));
  EXPECT_CODE(Code::invalid_argument, g.accumulate(ElementType::float64, nullptr, data, place, 12, target));
  EXPECT_CODE(Code::invalid_argument, g.fetch_and_add(place + 4, 1, Width::bits64, target).status());
  EXPECT_CODE(Code::invalid_argument, g.fence(Rank{99}));
  EXPECT_OK(g.put(data, nullptr, 0, target));  // nothing to do is no mistake
  EXPECT_OK(g.barrier());
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(static_cast<const char*>(memory->local())[i], 0);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
  EXPECT_CODE(Code::invalid_argument, g.put(data, place, 8, target));  // it is gone
  EXPECT_OK(g.barrier());
}

}  // namespace grapnel::test
