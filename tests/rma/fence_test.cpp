// The fence: how many messages it takes, and how long it takes them under a delay.
//
// Exact counts need a quiet network, and the way that each test names; so these run in simulated worlds of their own.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "harness/wrapped_transport.hpp"
#include "rma/settings.hpp"

namespace grapnel::test {
namespace {

using rma::FenceKind;

struct Sample {
  std::uint64_t messages = 0, duration_ns = 0;
};

constexpr std::uint64_t kDelay_ns = base::kMillisecond_ns;
// More than a write's own acknowledgement would be asked for: the fence has to ask.
constexpr int kWrites = 4;

std::uint64_t fence_messages(Runtime& g) { return g.implementation().rma->fence_counts().messages.value(); }

void write_to(Runtime& g, const Memory& memory, int targets) {
  std::uint64_t value = 1;
  for (int step = 1; step <= targets; ++step) {
    const Rank to{
        static_cast<int>((index(g.rank()) + static_cast<std::size_t>(step)) % static_cast<std::size_t>(g.size()))};
    for (int i = 0; i < kWrites; ++i) EXPECT_OK(g.put(&value, memory.on(to), sizeof value, to));
  }
}

// One rank per node; rank 0 writes to `targets` nodes and fences.
Sample fence_of(FenceKind kind, std::uint32_t window, int nodes, int targets) {
  sim::WorldOptions options{.ranks = nodes, .nodes = nodes};
  options.network.delay_ns = kDelay_ns;
  Sample sample;
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    foundation.config.change<rma::Settings>().fence = kind;
    foundation.config.change<rma::Settings>().fence_window = window;
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok());
    Runtime& g = **started;
    const auto memory = g.allocate(8);
    ASSERT_TRUE(memory.ok());
    if (index(g.rank()) == 0) {
      for (int round = 0; round < 3; ++round) {  // the first ones connect
        write_to(g, *memory, targets);
        const std::uint64_t before = fence_messages(g), begin_ns = me.host.now_ns();
        EXPECT_OK(g.fence_all());
        sample = {fence_messages(g) - before, me.host.now_ns() - begin_ns};
        EXPECT_OK(g.fence_all());
        EXPECT_EQ(fence_messages(g) - before, sample.messages) << "a fence without writes asked";
      }
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.free(*memory));
    EXPECT_OK((*started)->finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  return sample;
}

double delays(const Sample& sample) { return static_cast<double>(sample.duration_ns) / static_cast<double>(kDelay_ns); }

TEST(Fence, SerialTakesTwoDelaysPerServer) {
  for (const int targets : {1, 2, 4, 7}) {
    const Sample sample = fence_of(FenceKind::serial, 16, 8, targets);
    EXPECT_EQ(sample.messages, 2u * static_cast<unsigned>(targets));
    EXPECT_NEAR(delays(sample), 2 * targets, 0.05 * targets);
  }
}

TEST(Fence, OverlappedTakesTwoDelaysPerWindow) {
  for (const int targets : {1, 2, 4, 6, 7}) {
    for (const std::uint32_t window : {1u, 3u, 5u, 7u, 16u}) {
      SCOPED_TRACE(fmt::format("{} targets, window {}", targets, window));
      const Sample sample = fence_of(FenceKind::overlapped, window, 8, targets);
      EXPECT_EQ(sample.messages, 2u * static_cast<unsigned>(targets));
      const auto rounds = (static_cast<unsigned>(targets) + window - 1) / window;
      EXPECT_NEAR(delays(sample), 2.0 * rounds, 0.1 * rounds);
    }
  }
}

// Each form of a write that asks for its acknowledgement with its last message.
std::vector<std::function<Status()>> writes(Runtime& g, std::byte* there, std::byte* flag, Rank to) {
  static std::vector<std::byte> here(600'000);
  static const Strided kOneMessage{.levels = 1, .count = {64, 8}, .stride = {128}};
  static const Strided kSeveral{.levels = 1, .count = {1000, 300}, .stride = {1200}};
  const std::vector<Piece> pieces{
      {here.data(), there, 0}, {here.data(), there, 500}, {here.data(), there + 1000, 70'000}, {here.data(), there, 0}};
  return {
      [&g, there, to] { return g.put(here.data(), there, 8, to); },
      [&g, there, to] { return g.put(here.data(), there, 200'000, to); },
      [&g, there, to] { return g.put(here.data(), kOneMessage, there, kOneMessage, to); },
      [&g, there, to] { return g.put(here.data(), kSeveral, there, kSeveral, to); },
      [&g, pieces, to] { return g.put(pieces, to); },
      [&g, there, to] { return g.accumulate(ElementType::int64, nullptr, here.data(), kSeveral, there, kSeveral, to); },
      [&g, there, flag, to] { return g.put_and_signal(here.data(), kSeveral, there, kSeveral, flag, 1, to); }};
}

// A write that expects a fence asks by itself: the fence has nothing to ask.
TEST(Fence, NothingIsAskedThatIsAnsweredAlready) {
  sim::WorldOptions options{.ranks = 2, .nodes = 2};
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto started = runtime::assemble(foundation_of(me));
    ASSERT_TRUE(started.ok());
    Runtime& g = **started;
    const auto memory = g.allocate(600'008);
    ASSERT_TRUE(memory.ok());
    const Rank other{1 - static_cast<int>(index(g.rank()))};
    auto* const there = static_cast<std::byte*>(memory->on(other));
    if (index(g.rank()) == 0) {
      std::size_t form = 0;
      for (const auto& write : writes(g, there, there + 600'000, other)) {
        SCOPED_TRACE(fmt::format("form {}", form++));
        std::uint64_t asked = 0;
        for (int round = 0; round < 3; ++round) {
          asked = fence_messages(g);
          EXPECT_OK(write());
          EXPECT_OK(g.fence(other));
        }
        EXPECT_EQ(fence_messages(g), asked);
      }
      // A write of nothing asks no rank, and leaves nothing behind.
      const std::vector<Piece> nothing{{there, there, 0}};
      EXPECT_OK(g.put(nothing, other));
      std::uint64_t value = 0;
      for (int i = 0; i < kWrites; ++i) EXPECT_OK(g.put(&value, there, sizeof value, other));
      EXPECT_OK(g.fence(other));
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.free(*memory));
    EXPECT_OK((*started)->finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
}

// Remembers to which endpoint the first question of a fence goes.
class FirstQuestion final : public PassingWorker {
 public:
  FirstQuestion(std::unique_ptr<transport::Worker> worker, std::vector<transport::EndpointId>& firsts, bool& armed)
      : PassingWorker(std::move(worker)), firsts_(firsts), armed_(armed) {}
  Result<transport::Sent> send(transport::EndpointId to, ByteView header, ByteView payload,
                               transport::Completion completion) override {
    if (std::exchange(armed_, false)) firsts_.push_back(to);
    return worker_->send(to, header, payload, completion);
  }

 private:
  std::vector<transport::EndpointId>& firsts_;
  bool& armed_;
};

TEST(Fence, StartsAtARandomServer) {
  sim::WorldOptions options{.ranks = 5, .nodes = 5};
  std::vector<transport::EndpointId> firsts;
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    bool armed = false;
    std::vector<transport::EndpointId> mine;
    foundation.make_transport = [&](const base::Config&, const launch::Launch&) {
      return Result<std::shared_ptr<transport::Transport>>(std::make_shared<WrappedTransport>(
          me.transport, [&](auto worker) { return std::make_unique<FirstQuestion>(std::move(worker), mine, armed); }));
    };
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok());
    Runtime& g = **started;
    const auto memory = g.allocate(8);
    ASSERT_TRUE(memory.ok());
    for (int round = 0; round < 40 && index(g.rank()) == 0; ++round) {
      write_to(g, *memory, 4);
      armed = true;
      EXPECT_OK(g.fence_all());
    }
    armed = false;
    if (index(g.rank()) == 0) firsts = mine;
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.free(*memory));
    EXPECT_OK((*started)->finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  ASSERT_EQ(firsts.size(), 40u);
  for (const auto endpoint : std::set(firsts.begin(), firsts.end())) {
    EXPECT_LT(std::count(firsts.begin(), firsts.end(), endpoint), 25) << "of 40";
  }
}

}  // namespace
}  // namespace grapnel::test
