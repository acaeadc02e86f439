// Puts with a signal: who sees the word finds the data, whatever way and shape it came.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kMost = 200'008;

struct Mailbox {
  alignas(64) std::int32_t flag;
  alignas(64) std::byte data[kMost];
};

void await(Runtime& g, std::int32_t& flag, std::int32_t value) {
  Runtime::Implementation& parts = g.implementation();
  const Status waited = parts.waiting->on_worker(
      [&] {
        struct Idle {
          os::Host& host;
          bool progress() const { return false; }
          void sleep(std::uint64_t) const { host.yield(); }
        };
        return Idle{*parts.host};
      }(),
      [&] { return std::atomic_ref<std::int32_t>(flag).load(std::memory_order_acquire) == value; });
  ASSERT_TRUE(waited.ok()) << waited.to_string();
}

std::vector<std::byte> filled(Rank origin, std::uint64_t round, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  base::Random random(pattern(origin, round, bytes));
  for (std::byte& one : data) one = static_cast<std::byte>(random.next());
  return data;
}

// Messages of this rank that `call` took, where the target is on another node.
template <typename Call>
std::uint64_t messages_of(Runtime& g, Rank target, Call call) {
  if (g.same_node(target)) {
    call();
    return 0;
  }
  auto& client = *g.implementation().client;
  const std::uint64_t before = client.messages();
  call();
  return client.messages() - before;
}

Rank next_of(const Runtime& g) { return Rank{(static_cast<int>(index(g.rank())) + 1) % g.size()}; }
Rank previous_of(const Runtime& g) { return Rank{(static_cast<int>(index(g.rank())) + g.size() - 1) % g.size()}; }

}  // namespace

WORLD_TEST(Signal, TheDataIsThereWhenTheWordIsSeen) {
  const auto memory = g.allocate(sizeof(Mailbox));
  ASSERT_TRUE(memory.ok());
  auto& mine = *static_cast<Mailbox*>(memory->local());
  const Rank next = next_of(g), previous = previous_of(g);
  auto& theirs = *static_cast<Mailbox*>(memory->on(next));
  constexpr std::size_t kSizes[] = {0, 1, 8, 100, 4096, 65'536, 65'537, 131'072, 200'000};
  std::int32_t round = 0;
  for (int again = 0; again < 3; ++again) {
    for (const std::size_t bytes : kSizes) {
      ++round;
      const auto data = filled(g.rank(), static_cast<std::uint64_t>(round), bytes);
      const std::uint64_t messages = messages_of(
          g, next, [&] { EXPECT_OK(g.put_and_signal(data.data(), theirs.data, bytes, &theirs.flag, round, next)); });
      EXPECT_LE(messages, std::max<std::size_t>(1, (bytes + 65'535) / 65'536)) << bytes;
      EXPECT_EQ(messages == 0, g.same_node(next));
      await(g, mine.flag, round);
      const auto expected = filled(previous, static_cast<std::uint64_t>(round), bytes);
      // memcmp takes no null pointer, which a vector of nothing may give.
      ASSERT_TRUE(bytes == 0 || std::memcmp(mine.data, expected.data(), bytes) == 0) << bytes << " bytes";
      EXPECT_OK(g.notify(previous));  // it may send the next one
      ASSERT_TRUE(g.wait_notify(next).ok());
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// What was put before without a signal is not promised, but puts and signals to one place keep the program's order.
WORLD_TEST(Signal, KeepsTheOrderOfOnePlace) {
  const auto memory = g.allocate(sizeof(Mailbox));
  ASSERT_TRUE(memory.ok());
  auto& mine = *static_cast<Mailbox*>(memory->local());
  const Rank next = next_of(g), previous = previous_of(g);
  auto& theirs = *static_cast<Mailbox*>(memory->on(next));
  for (std::int32_t round = 1; round <= 20; ++round) {
    const std::size_t bytes = 8 * (1 + pattern(Rank{0}, static_cast<std::uint64_t>(round), 0) % 20'000);
    const auto wrong = filled(g.rank(), 1000, bytes);
    const auto right = filled(g.rank(), static_cast<std::uint64_t>(round), bytes);
    EXPECT_OK(g.put(wrong.data(), theirs.data, bytes, next));
    EXPECT_OK(g.put_and_signal(right.data(), theirs.data, bytes, &theirs.flag, round, next));
    std::vector<std::byte> back(bytes);
    EXPECT_OK(g.get(theirs.data, back.data(), bytes, next));
    EXPECT_EQ(back, right);
    await(g, mine.flag, round);
    const auto expected = filled(previous, static_cast<std::uint64_t>(round), bytes);
    ASSERT_EQ(std::memcmp(mine.data, expected.data(), bytes), 0) << bytes << " bytes";
    EXPECT_OK(g.notify(previous));
    ASSERT_TRUE(g.wait_notify(next).ok());
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Signal, Strided) {
  const auto memory = g.allocate(sizeof(Mailbox));
  ASSERT_TRUE(memory.ok());
  auto& mine = *static_cast<Mailbox*>(memory->local());
  const Rank next = next_of(g), previous = previous_of(g);
  auto& theirs = *static_cast<Mailbox*>(memory->on(next));
  for (std::int32_t round = 1; round <= 20; ++round) {
    base::Random random(world_seed() + static_cast<std::uint64_t>(round));  // the same in all ranks
    const auto row = static_cast<std::int64_t>(random.between(1, 3000));
    const auto rows = static_cast<std::int64_t>(random.between(1, 60));
    const auto gap = static_cast<std::int64_t>(random.below(300));
    Strided packed = Strided::contiguous(row), spread = packed;
    packed.levels = spread.levels = 1;
    packed.count[1] = spread.count[1] = rows;
    packed.stride[0] = row;
    spread.stride[0] = row + gap;
    if (spread.stride[0] * rows > static_cast<std::int64_t>(kMost)) continue;
    const auto bytes = static_cast<std::size_t>(row * rows);
    const auto data = filled(g.rank(), static_cast<std::uint64_t>(round), bytes);
    const std::uint64_t messages = messages_of(g, next, [&] {
      EXPECT_OK(g.put_and_signal(data.data(), packed, theirs.data, spread, &theirs.flag, round, next));
    });
    EXPECT_LE(messages, (bytes + 65'535) / 65'536) << bytes;
    await(g, mine.flag, round);
    const auto expected = filled(previous, static_cast<std::uint64_t>(round), bytes);
    for (std::int64_t i = 0; i < rows; ++i) {
      ASSERT_EQ(std::memcmp(mine.data + i * spread.stride[0], expected.data() + i * row, static_cast<std::size_t>(row)),
                0)
          << "row " << i;
    }
    EXPECT_OK(g.notify(previous));
    ASSERT_TRUE(g.wait_notify(next).ok());
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Signal, MistakesTouchNothing) {
  const auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  const Rank target = next_of(g);
  auto* there = static_cast<std::byte*>(memory->on(target));
  const double one = 1;
  EXPECT_CODE(Code::invalid_argument, g.put_and_signal(&one, there, 8, there + 18, 1, target)) << "not aligned";
  EXPECT_CODE(Code::invalid_argument, g.put_and_signal(&one, there, 8, nullptr, 1, target));
  EXPECT_CODE(Code::invalid_argument, g.put_and_signal(&one, there + (std::size_t{1} << 33), 8, there, 1, target));
  EXPECT_CODE(Code::invalid_argument, g.put_and_signal(&one, there, 8, there + 16, 1, Rank{g.size()}));
  EXPECT_CODE(Code::invalid_argument, g.put_and_signal(&one, there, SIZE_MAX, there + 16, 1, target));
  EXPECT_OK(g.barrier());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(static_cast<const char*>(memory->local())[i], 0);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
