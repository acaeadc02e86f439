// Vector transfers and aggregates: exactly ⌈bytes/chunk⌉ messages whatever the pieces are, and every byte where it
// belongs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t kArena = 4 << 20;

// Where each piece begins in the target, and its length. They do not overlap.
struct Place {
  std::size_t at, bytes;
};
using Places = std::vector<Place>;

// A byte each, in an order in which neighbours are far from each other: no gap is short.
Places far_bytes() {
  Places places;
  for (std::size_t i = 0; i < kChunk + 1000; ++i) places.push_back({i * 1'000'003 % (kArena / 8) * 8, 1});
  return places;
}

// Forwards or backwards, of lengths that change all the time, some of them zero; in elements of `unit` bytes.
Places mixed(base::Random& random, std::size_t unit) {
  Places places;
  std::size_t at = 0;
  while (places.size() < 9000) {
    const std::size_t bytes = unit * random.below(random.chance(0.02) ? 40 : 7);
    if (at + bytes > kArena) break;
    places.push_back({at, bytes});
    at += bytes + unit * random.below(4);
  }
  if (random.chance(0.5)) std::reverse(places.begin(), places.end());
  return places;
}

// A piece longer than two chunks between small ones.
Places with_a_long_one() {
  return {{8, 24}, {0, 0}, {100'000, 2 * kChunk + 48}, {64, 8}, {1'000'000, kChunk}, {3'000'000, 8}};
}

std::uint64_t messages_for(const Places& places) {
  std::size_t bytes = 0;
  for (const Place& place : places) bytes += place.bytes;
  return (bytes + kChunk - 1) / kChunk;
}

// Puts, gets and accumulates at these places of the next rank, counted and compared.
class Rounds {
 public:
  Rounds(Runtime& g, void* remote, Rank target)
      : g_(g), remote_(static_cast<std::byte*>(remote)), target_(target), random_(world_seed() + index(g.rank())) {}

  void put_and_get(const Places& places) {
    start_over(places);
    const std::uint64_t puts = wire_messages(g_, "put"), gets = wire_messages(g_, "get");
    ASSERT_OK(g_.put(pieces(places, source_), target_));
    EXPECT_EQ(wire_messages(g_, "put") - puts, messages(places));
    std::size_t from = 0;
    for (const Place& place : places) {
      std::copy_n(&source_[from], place.bytes, &expected_[place.at]);
      from += place.bytes;
    }
    compare();
    std::vector<std::byte> gathered(source_.size());
    const std::uint64_t compared = wire_messages(g_, "get") - gets;
    ASSERT_OK(g_.get(pieces(places, gathered), target_));
    EXPECT_EQ(wire_messages(g_, "get") - gets - compared, messages(places));
    EXPECT_TRUE(gathered == source_);
  }

  // Places in whole elements of 8 bytes.
  void accumulate(const Places& places) {
    start_over(places);
    const std::uint64_t before = wire_messages(g_, "accumulate");
    ASSERT_OK(g_.accumulate(ElementType::int64, nullptr, pieces(places, source_), target_));
    EXPECT_EQ(wire_messages(g_, "accumulate") - before, messages(places));
    std::size_t from = 0;
    for (const Place& place : places) {
      for (std::size_t i = 0; i < place.bytes; i += 8, from += 8) {
        std::uint64_t sum = 0, more = 0;
        std::memcpy(&sum, &expected_[place.at + i], 8);
        std::memcpy(&more, &source_[from], 8);
        sum += more;
        std::memcpy(&expected_[place.at + i], &sum, 8);
      }
    }
    compare();
  }

 private:
  std::uint64_t messages(const Places& places) const { return g_.same_node(target_) ? 0 : messages_for(places); }

  void start_over(const Places& places) {
    std::size_t bytes = 0;
    for (const Place& place : places) bytes += place.bytes;
    source_.resize(bytes);
    for (std::byte& one : source_) one = static_cast<std::byte>(random_.next());
    expected_.assign(kArena, std::byte{0x5a});
    EXPECT_OK(g_.put(expected_.data(), remote_, kArena, target_));
    EXPECT_OK(g_.fence(target_));
  }

  std::vector<Piece> pieces(const Places& places, std::vector<std::byte>& local) const {
    std::vector<Piece> result;
    std::size_t from = 0;
    for (const Place& place : places) {
      result.push_back({local.data() + from, remote_ + place.at, place.bytes});
      from += place.bytes;
    }
    return result;
  }

  void compare() const {
    std::vector<std::byte> back(kArena);
    EXPECT_OK(g_.fence(target_));
    EXPECT_OK(g_.get(remote_, back.data(), kArena, target_));
    EXPECT_TRUE(back == expected_);
  }

  Runtime& g_;
  std::byte* const remote_;
  const Rank target_;
  base::Random random_;
  std::vector<std::byte> source_, expected_;
};

Rank next_of(const Runtime& g) { return Rank{(static_cast<int>(index(g.rank())) + 1) % g.size()}; }

const std::vector<Shape> kShapes{{2, 2}, {3, 2}};

}  // namespace

WORLD_TEST_ON(VectorMessages, AreAsFewAsTheirDataAllows, kShapes) {
  const auto memory = g.allocate(kArena);
  ASSERT_TRUE(memory.ok());
  base::Random random(world_seed() * 7 + index(g.rank()));
  Rounds rounds(g, memory->on(next_of(g)), next_of(g));
  rounds.put_and_get(far_bytes());
  rounds.put_and_get(mixed(random, 1));
  rounds.put_and_get(mixed(random, 3));
  rounds.put_and_get(with_a_long_one());
  rounds.accumulate(mixed(random, 8));
  rounds.accumulate(with_a_long_one());
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// A chunk does not end inside an element: 5,000 of 16 bytes, each behind one that is not a multiple of them.
WORLD_TEST_ON(VectorMessages, NeverCutAnElement, kShapes) {
  const auto memory = g.allocate(kArena);
  ASSERT_TRUE(memory.ok());
  const Rank next = next_of(g);
  std::vector<double> ones(10'000, 1), back(10'000);
  std::vector<Piece> pieces, gets;
  for (std::size_t i = 0; i < 5000; ++i) {
    auto* remote = static_cast<std::byte*>(memory->on(next)) + 40 * i;
    pieces.push_back({&ones[2 * i], remote, 16});
    gets.push_back({&back[2 * i], remote, 16});
  }
  const double twice[2] = {2, 0};
  const std::uint64_t before = wire_messages(g, "accumulate");
  EXPECT_OK(g.accumulate(ElementType::complex128, twice, pieces, next));
  EXPECT_EQ(wire_messages(g, "accumulate") - before, g.same_node(next) ? 0 : (5000 * 16 + kChunk - 1) / kChunk);
  EXPECT_OK(g.fence(next));
  EXPECT_OK(g.get(gets, next));
  EXPECT_EQ(back, std::vector<double>(10'000, 2));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
