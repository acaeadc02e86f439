// Who does not wait reads no clock: on a clock that is slow to read (a virtual machine's), that would be most of a free
// lock's time.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

constexpr Rank kHome{0};
constexpr std::uint64_t kHeld_ns = 10 * base::kMillisecond_ns;

thread_local std::uint64_t clock_reads = 0;

// A rank's host that counts how often each of its threads asks for the time.
class WatchedHost final : public os::Host {
 public:
  explicit WatchedHost(os::Host& host) : host_(host) {}

  std::uint64_t now_ns() override {
    ++clock_reads;
    return host_.now_ns();
  }
  std::size_t processors() override { return host_.processors(); }
  int cpu() override { return host_.cpu(); }
  void relax() override { host_.relax(); }
  void yield() override { host_.yield(); }
  void wait(os::Word& word, std::uint32_t seen, std::uint64_t timeout_ns) override {
    host_.wait(word, seen, timeout_ns);
  }
  void wake(os::Word& word) override { host_.wake(word); }
  Result<std::unique_ptr<os::Thread>> start(const std::string& name, const std::vector<int>& cpus,
                                            std::function<void()> body) override {
    return host_.start(name, cpus, std::move(body));
  }

 private:
  os::Host& host_;
};

// The caller's reads of the clock during `use`.
template <typename Use>
std::uint64_t reads_in(Use&& use) {
  const std::uint64_t before = clock_reads;
  use();
  return clock_reads - before;
}

void take_and_give_back(LockSet& set, bool shared) {
  EXPECT_OK(shared ? set.lock_shared(0, kHome) : set.lock(0, kHome));
  EXPECT_OK(shared ? set.unlock_shared(0, kHome) : set.unlock(0, kHome));
}

// Rank 1 takes the free lock alone, again and again; then it waits for rank 0, who holds it.
void be_a_rank(Runtime& g, os::Host& host, LockKind kind, bool shared_mode) {
  SCOPED_TRACE(to_string(kind));
  LockOptions options;
  options.kind = kind;
  options.shared_mode = shared_mode;
  auto created = g.create_lock_set(1, options);
  ASSERT_OK(created.status());
  if (g.rank() != kHome) {
    EXPECT_EQ(reads_in([&] {
                for (int i = 0; i < 10; ++i) take_and_give_back(*created, false);
              }),
              0U);
    if (shared_mode || kind == LockKind::reader_writer) {
      EXPECT_EQ(reads_in([&] {
                  for (int i = 0; i < 10; ++i) take_and_give_back(*created, true);
                }),
                0U)
          << "shared";
    }
  }
  ASSERT_OK(g.barrier());
  if (g.rank() == kHome) EXPECT_OK(created->lock(0, kHome));
  ASSERT_OK(g.barrier());
  if (g.rank() == kHome) {
    sim::pass_time(host, kHeld_ns);
    EXPECT_OK(created->unlock(0, kHome));
  } else {
    EXPECT_GT(reads_in([&] { take_and_give_back(*created, false); }), 0U) << "the count does not count";
  }
  ASSERT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(*created));
}

TEST(LockClock, IsNotReadByWhoDoesNotWait) {
  sim::WorldOptions options{.ranks = 2, .nodes = 1};
  options.seed(3);
  const auto outcome = sim::run_world(options, [](sim::RankWorld& me) {
    WatchedHost host(me.host);
    runtime::Foundation foundation = foundation_of(me);
    foundation.host = std::shared_ptr<os::Host>(std::shared_ptr<void>(), &host);
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    for (const LockKind kind : kAllLockKinds) {
      for (const bool shared_mode : {false, true}) be_a_rank(**started, host, kind, shared_mode);
    }
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
}

}  // namespace
}  // namespace grapnel::test
