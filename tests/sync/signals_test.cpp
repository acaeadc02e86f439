// Signals: each addition counts once, costs one message, wakes, and comes behind what its origin wrote before.
// SPDX-License-Identifier: Apache-2.0
#include "sync/signals.hpp"

#include <atomic>
#include <cstring>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

sync::Signals& signals_of(Runtime& g) { return g.implementation().core->service<sync::Signals>(); }

Rank next_of(const Runtime& g) { return Rank{(static_cast<int>(index(g.rank())) + 1) % g.size()}; }
Rank previous_of(const Runtime& g) { return Rank{(static_cast<int>(index(g.rank())) + g.size() - 1) % g.size()}; }

// What one rank writes to the next before a signal, a place for each way.
struct Written {
  static constexpr std::size_t kSmall = 200, kLong = 40'000, kRows = 8;  ///< words
  alignas(64) std::uint32_t word;
  alignas(64) std::int64_t sum, replaced;
  alignas(64) std::uint64_t small[kSmall], started[kSmall], pieces[2 * kSmall];
  alignas(64) std::uint64_t rows[kRows][kSmall];
  alignas(64) std::uint64_t bulk[kLong];
};

class Writer {
 public:
  Writer(Runtime& g, Written& there, Rank target, std::uint64_t round)
      : g_(g), there_(there), target_(target), round_(round), source_(Written::kLong) {
    for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = pattern(g.rank(), round, i);
  }

  void write(std::uint64_t way) {
    switch (way) {
      case 0: EXPECT_OK(g_.put(source_.data(), there_.small, sizeof there_.small, target_)); break;
      case 1: EXPECT_OK(g_.put(source_.data(), there_.bulk, sizeof there_.bulk, target_)); break;
      case 2: start(); break;
      case 3: rows(); break;
      case 4: pieces(); break;
      case 5: add(); break;
      default: replace(); break;
    }
  }
  void wait() { EXPECT_OK(g_.wait(handle_)); }

 private:
  void start() { EXPECT_OK(g_.start_put(source_.data(), there_.started, sizeof there_.started, target_, &handle_)); }
  void rows() {
    Strided packed, spread;
    packed.levels = spread.levels = 1;
    packed.count[0] = spread.count[0] = 8 * (Written::kSmall - 3);
    packed.count[1] = spread.count[1] = Written::kRows;
    packed.stride[0] = packed.count[0];
    spread.stride[0] = sizeof there_.rows[0];
    EXPECT_OK(g_.put(source_.data(), packed, there_.rows, spread, target_));
  }
  void pieces() {
    std::vector<Piece> all;
    for (std::size_t i = 0; i < Written::kSmall; ++i) all.push_back({&source_[i], &there_.pieces[2 * i], 8});
    EXPECT_OK(g_.put(all, target_));
  }
  void add() {
    const auto one = static_cast<std::int64_t>(round_);
    EXPECT_OK(g_.accumulate(ElementType::int64, nullptr, &one, &there_.sum, sizeof one, target_));
  }
  void replace() {
    const auto value = static_cast<std::int64_t>(round_);
    EXPECT_OK(g_.update(Operation::replace, NumberType::int64, &value, &there_.replaced, 1, target_));
  }

  Runtime& g_;
  Written& there_;
  const Rank target_;
  const std::uint64_t round_;
  std::vector<std::uint64_t> source_;
  Handle handle_;
};

void expect_written(const Written& mine, Rank origin, std::uint64_t round) {
  std::vector<std::uint64_t> source(Written::kLong);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = pattern(origin, round, i);
  EXPECT_EQ(std::memcmp(mine.small, source.data(), sizeof mine.small), 0) << "put";
  EXPECT_EQ(std::memcmp(mine.bulk, source.data(), sizeof mine.bulk), 0) << "bulk put";
  EXPECT_EQ(std::memcmp(mine.started, source.data(), sizeof mine.started), 0) << "started put";
  constexpr std::size_t kRow = Written::kSmall - 3;
  for (std::size_t i = 0; i < Written::kRows; ++i) {
    EXPECT_EQ(std::memcmp(mine.rows[i], &source[kRow * i], 8 * kRow), 0) << "row " << i;
  }
  for (std::size_t i = 0; i < Written::kSmall; ++i) EXPECT_EQ(mine.pieces[2 * i], source[i]) << "piece " << i;
  EXPECT_EQ(mine.sum, static_cast<std::int64_t>(round * (round + 1) / 2)) << "accumulate";
  EXPECT_EQ(mine.replaced, static_cast<std::int64_t>(round)) << "update";
}

}  // namespace

// In every order of the ways, so that each of them is the last one before the signal.
WORLD_TEST(Signals, WritesOfEveryWayAreThere) {
  constexpr std::uint64_t kWays = 7;
  const auto memory = g.allocate(sizeof(Written));
  ASSERT_OK(memory.status());
  auto& mine = *static_cast<Written*>(memory->local());
  auto& there = *static_cast<Written*>(memory->on(next_of(g)));
  sync::Signals& signals = signals_of(g);
  for (std::uint64_t round = 1; round <= kWays; ++round) {
    Writer writer(g, there, next_of(g), round);
    for (std::uint64_t way = 0; way < kWays; ++way) writer.write((way + round) % kWays);
    EXPECT_OK(signals.add(&there.word, 1, next_of(g)));
    writer.wait();
    ASSERT_OK(signals.wait(&mine.word, static_cast<std::uint32_t>(round)));
    expect_written(mine, previous_of(g), round);
    EXPECT_OK(g.notify(previous_of(g)));  // it may write again
    ASSERT_OK(g.wait_notify(next_of(g)).status());
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// Every rank adds different amounts to the words of all; one message each.
WORLD_TEST(Signals, EveryAdditionCounts) {
  constexpr std::uint32_t kRounds = 30;
  const auto memory = g.allocate(sizeof(std::uint32_t) * 2);
  ASSERT_OK(memory.status());
  sync::Signals& signals = signals_of(g);
  auto* const mine = static_cast<std::uint32_t*>(memory->local());
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    for (int rank = 0; rank < g.size(); ++rank) {
      auto* const words = static_cast<std::uint32_t*>(memory->on(Rank{rank}));
      const std::uint64_t before = wire_messages(g, "signal");
      EXPECT_OK(signals.add(words + 1, round, Rank{rank}));
      EXPECT_EQ(wire_messages(g, "signal") - before, g.same_node(Rank{rank}) ? 0U : 1U);
    }
    const auto all = static_cast<std::uint32_t>(g.size()) * (round * (round + 1) / 2);
    ASSERT_OK(signals.wait(mine + 1, all));
    EXPECT_OK(g.barrier());
    EXPECT_EQ(sync::Signals::count_of(mine + 1), all);
    const auto reached = signals.test(mine + 1, all), beyond = signals.test(mine + 1, all + 1);
    ASSERT_TRUE(reached.ok() && beyond.ok());
    EXPECT_TRUE(*reached);
    EXPECT_FALSE(*beyond);
    EXPECT_OK(g.barrier());
  }
  EXPECT_EQ(*mine, 0U) << "its neighbour";
  EXPECT_OK(g.free(*memory));
}

// From just below 2^31 over 0.
WORLD_TEST(Signals, CountsGoOnAfterTheyWrapAround) {
  const auto memory = g.allocate(sizeof(std::uint32_t));
  ASSERT_OK(memory.status());
  sync::Signals& signals = signals_of(g);
  void* const there = memory->on(next_of(g));
  std::uint32_t count = 0;
  for (const std::uint32_t amount : {sync::Signals::kMostAdded, sync::Signals::kMostAdded, 1U, 1U, 1U, 70U}) {
    EXPECT_OK(signals.add(there, amount, next_of(g)));
    count += amount;
    ASSERT_OK(signals.wait(memory->local(), count));
    EXPECT_EQ(sync::Signals::count_of(memory->local()), count & 0x7fffffffU);
    const auto beyond = signals.test(memory->local(), count + 1);
    ASSERT_TRUE(beyond.ok());
    EXPECT_FALSE(*beyond);
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

// All ranks of node 0 wait for one word, to which the last rank adds later than they sleep.
WORLD_TEST(Signals, WakesEveryWaiter) {
  const auto memory = g.allocate(sizeof(std::uint32_t));
  ASSERT_OK(memory.status());
  sync::Signals& signals = signals_of(g);
  os::Word never{0};
  for (std::uint32_t round = 1; round <= 10; ++round) {
    if (index(g.rank()) + 1 == static_cast<std::size_t>(g.size())) {
      g.implementation().host->wait(never, 0, base::kMillisecond_ns);
      EXPECT_OK(signals.add(memory->on(Rank{0}), 1, Rank{0}));
    } else if (g.same_node(Rank{0})) {
      ASSERT_OK(signals.wait(memory->on(Rank{0}), round));
    }
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Signals, MistakesTouchNothing) {
  const auto memory = g.allocate(64);
  ASSERT_OK(memory.status());
  sync::Signals& signals = signals_of(g);
  auto* const there = static_cast<std::byte*>(memory->on(next_of(g)));
  std::uint32_t on_the_stack = 0;
  EXPECT_CODE(Code::invalid_argument, signals.add(there + 2, 1, next_of(g)));
  EXPECT_CODE(Code::invalid_argument, signals.add(there, 0, next_of(g)));
  EXPECT_CODE(Code::invalid_argument, signals.add(there, sync::Signals::kMostAdded + 1, next_of(g)));
  EXPECT_CODE(Code::invalid_argument, signals.add(there + (std::size_t{1} << 33), 1, next_of(g)));
  EXPECT_CODE(Code::invalid_argument, signals.add(there, 1, Rank{g.size()}));
  EXPECT_CODE(Code::invalid_argument, signals.add(there, 1, Rank{-1}));
  EXPECT_CODE(Code::invalid_argument, signals.wait(&on_the_stack, 0));
  EXPECT_CODE(Code::invalid_argument, signals.test(static_cast<std::byte*>(memory->local()) + 1, 0).status());
  EXPECT_OK(g.barrier());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(static_cast<const char*>(memory->local())[i], 0);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
