// A signal wakes its waiter at once; a rank that waits for a dead one is answered. Would the first test notice a wake
// that is lost? The mutant sits in the host.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "sync/signals.hpp"

namespace grapnel::test {
namespace {

constexpr std::uint64_t kLate_ns = 5 * base::kMillisecond_ns;

// A host that hands everything on, but wakes nothing that sleeps on `deaf`.
class DeafHost final : public os::Host {
 public:
  explicit DeafHost(os::Host& host) : host_(host) {}

  void refuse_to_wake(const void* word) { deaf_ = word; }

  std::uint64_t now_ns() override { return host_.now_ns(); }
  std::size_t processors() override { return host_.processors(); }
  bool has_page_tables() const override { return host_.has_page_tables(); }
  int cpu() override { return host_.cpu(); }
  void relax() override { host_.relax(); }
  void yield() override { host_.yield(); }
  void wait(os::Word& word, std::uint32_t seen, std::uint64_t timeout_ns) override {
    host_.wait(word, seen, timeout_ns);
  }
  void wake(os::Word& word) override {
    if (&word != deaf_) host_.wake(word);
  }
  Result<std::unique_ptr<os::Thread>> start(const std::string& name, const std::vector<int>& cpus,
                                            std::function<void()> body) override {
    return host_.start(name, cpus, std::move(body));
  }

 private:
  os::Host& host_;
  std::atomic<const void*> deaf_{nullptr};
};

// Rank 0 waits for the last rank's signal, which it adds when rank 0 sleeps; how long after that rank 0 went on.
std::uint64_t delay_of_waking(std::uint64_t seed, Shape shape, bool deaf) {
  sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
  options.seed(seed);
  std::uint64_t added_ns = 0, woken_ns = 0;  // the ranks share a process, and a clock
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    const auto host = std::make_shared<DeafHost>(me.host);
    foundation.host = host;
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok());
    Runtime& g = **started;
    const auto memory = g.allocate(sizeof(std::uint32_t));
    ASSERT_TRUE(memory.ok());
    if (deaf) host->refuse_to_wake(memory->on(Rank{0}));
    auto& signals = g.implementation().core->service<sync::Signals>();
    EXPECT_OK(g.barrier());
    if (index(me.rank) == 0) {
      EXPECT_OK(signals.wait(memory->local(), 1));
      woken_ns = me.host.now_ns();
    } else if (index(me.rank) + 1 == static_cast<std::size_t>(shape.ranks)) {
      sim::pass_time(me.host, kLate_ns);
      added_ns = me.host.now_ns();
      EXPECT_OK(signals.add(memory->on(Rank{0}), 1, Rank{0}));
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.free(*memory));
    EXPECT_OK(g.finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_GE(woken_ns, added_ns);
  return woken_ns - added_ns;
}

constexpr Shape kShapes[] = {{2, 1}, {2, 2}, {4, 2}};

}  // namespace

TEST(SignalMutant, ASleeperIsWokenAtOnce) {
  for (const Shape shape : kShapes) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      ASSERT_LT(delay_of_waking(seed, shape, false), kLate_ns) << shape.ranks << " on " << shape.nodes << ", " << seed;
    }
  }
}

TEST(SignalMutant, AWakeThatIsLostIsFound) {
  for (const Shape shape : kShapes) EXPECT_GE(delay_of_waking(1, shape, true), kLate_ns);
}

TEST(SignalMutant, AWaiterIsInformedOfADeath) {
  for (const Shape shape : kShapes) {
    Status answer;
    const Rank victim{shape.ranks - 1};
    sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
    options.kills = {{victim, 50 * base::kMillisecond_ns}};
    const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
      auto started = runtime::assemble(foundation_of(me));
      ASSERT_TRUE(started.ok());
      const auto memory = (*started)->allocate(sizeof(std::uint32_t));
      ASSERT_TRUE(memory.ok());
      if (me.rank == victim) sim::pass_time(me.host, 10 * base::kSecond_ns);
      auto& signals = (*started)->implementation().core->service<sync::Signals>();
      const Status waited = signals.wait(memory->local(), 1);
      if (index(me.rank) == 0) answer = waited;
    });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
    EXPECT_CODE(Code::peer_dead, answer);
  }
}

}  // namespace grapnel::test
