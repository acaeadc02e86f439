// The seeded scheduler: the same seed gives the same run, words and timers work, and every bad ending names the
// waiters.
// SPDX-License-Identifier: Apache-2.0
#include "os/sim/scheduler.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <shared_mutex>
#include <vector>

#include "sim/lock_hooks.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::os {
namespace {

constexpr std::uint64_t kMillisecond_ns = base::kMillisecond_ns;

using Threads = std::vector<std::unique_ptr<Thread>>;

std::unique_ptr<Thread> start(Host& host, const std::string& name, std::function<void()> body) {
  auto thread = host.start(name, {}, std::move(body));
  EXPECT_TRUE(thread.ok());
  return *std::move(thread);
}

struct Turns {
  SimOutcome outcome;
  std::vector<int> order;
};

// Four threads note their turns; nothing but the generator decides the order.
Turns run_turns(std::uint64_t seed) {
  Turns run;
  const auto scheduler = SimScheduler::create({.seed = seed});
  const auto host = scheduler->make_host("p");
  Threads threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(start(*host, fmt::format("t{}", i), [&run, &host, i] {
      for (int turn = 0; turn < 20; ++turn) {
        run.order.push_back(i);
        host->yield();
      }
    }));
  }
  run.outcome = scheduler->run();
  return run;
}

TEST(Scheduler, SameSeedSameRun) {
  std::set<std::uint64_t> hashes;
  for (const std::uint64_t seed : sim::seeds(50)) {
    const Turns first = run_turns(seed);
    const Turns second = run_turns(seed);
    ASSERT_TRUE(first.outcome.ok()) << first.outcome.report;
    EXPECT_EQ(first.order, second.order);
    EXPECT_EQ(first.outcome.trace_hash, second.outcome.trace_hash);
    EXPECT_EQ(first.outcome.virtual_ns, second.outcome.virtual_ns);
    EXPECT_EQ(first.order.size(), 80u);
    hashes.insert(first.outcome.trace_hash);
  }
  EXPECT_EQ(hashes.size(), sim::seeds(50).size()) << "different seeds must give different runs";
}

TEST(Scheduler, OneThreadRunsAtATime) {
  const auto scheduler = SimScheduler::create({.seed = 3, .switch_probability = 1});
  const auto host = scheduler->make_host("p");
  int inside = 0;
  int plain_sum = 0;  // no atomic: the token orders every access
  Threads threads;
  for (int i = 0; i < 6; ++i) {
    threads.push_back(start(*host, "t", [&] {
      for (int turn = 0; turn < 200; ++turn) {
        EXPECT_EQ(++inside, 1);
        ++plain_sum;
        --inside;
        host->relax();
      }
    }));
  }
  EXPECT_TRUE(scheduler->run().ok());
  EXPECT_EQ(plain_sum, 1200);
}

TEST(Scheduler, TimersJumpTheClock) {
  const auto scheduler =
      SimScheduler::create({.seed = 5, .early_return_probability = 0, .deadline_ns = 7200 * base::kSecond_ns});
  const auto host = scheduler->make_host("p");
  std::vector<int> order;
  Threads threads;
  for (const int minutes : {30, 10, 20}) {
    threads.push_back(start(*host, "t", [&, minutes] {
      const std::uint64_t duration_ns = static_cast<std::uint64_t>(minutes) * 60 * base::kSecond_ns;
      const std::uint64_t before_ns = host->now_ns();
      sim::pass_time(*host, duration_ns);
      const std::uint64_t took_ns = host->now_ns() - before_ns;
      EXPECT_GE(took_ns, duration_ns);
      EXPECT_LT(took_ns, duration_ns + 10'000);
      order.push_back(minutes);
    }));
  }
  const SimOutcome outcome = scheduler->run();
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(order, (std::vector<int>{10, 20, 30}));
}

// A counter handed back and forth between two sleepers. Wakes must not get lost under any schedule.
TEST(Scheduler, WordsWaitAndWake) {
  for (const std::uint64_t seed : sim::seeds(100)) {
    const auto scheduler = SimScheduler::create({.seed = seed});
    const auto host = scheduler->make_host("p");
    Word word{0};
    Threads threads;
    for (std::uint32_t side = 0; side < 2; ++side) {
      threads.push_back(start(*host, side ? "odd" : "even", [&, side] {
        for (int turn = 0; turn < 20; ++turn) {
          for (std::uint32_t seen = word; seen % 2 != side; seen = word) host->wait(word, seen, UINT64_MAX);
          word.fetch_add(1);
          host->wake(word);
        }
      }));
    }
    const SimOutcome outcome = scheduler->run();
    ASSERT_TRUE(outcome.ok()) << outcome.report;
    ASSERT_EQ(word.load(), 40u);
  }
}

TEST(Scheduler, ThreadsStartAndJoinInside) {
  const auto scheduler = SimScheduler::create({.seed = 9});
  const auto host = scheduler->make_host("p");
  int done = 0;
  const auto outer = start(*host, "outer", [&] {
    {
      Threads inner;
      for (int i = 0; i < 5; ++i) {
        inner.push_back(start(*host, "inner", [&] {
          sim::pass_time(*host, kMillisecond_ns);
          ++done;
        }));
      }
    }
    EXPECT_EQ(done, 5) << "the destructor joins";
  });
  EXPECT_TRUE(scheduler->run().ok());
}

TEST(Scheduler, DeadlockIsReported) {
  const auto scheduler = SimScheduler::create({.seed = 11, .early_return_probability = 0});
  const auto one = scheduler->make_host("rank0");
  const auto two = scheduler->make_host("rank1");
  Word missing{7};
  Word unwoken{1};
  Threads threads;
  threads.push_back(start(*one, "main", [&] { one->wait(missing, 7, UINT64_MAX); }));
  threads.push_back(start(*two, "server", [&] { two->wait(unwoken, 1, UINT64_MAX); }));
  threads.push_back(start(*two, "forgetful", [&] {
    sim::pass_time(*two, kMillisecond_ns);
    unwoken = 2;  // and no wake
  }));
  const SimOutcome outcome = scheduler->run();
  EXPECT_EQ(outcome.ending, SimEnding::deadlock);
  EXPECT_NE(outcome.report.find("seed 11"), std::string::npos) << outcome.report;
  EXPECT_NE(outcome.report.find("rank0/main           sleeps on word"), std::string::npos) << outcome.report;
  EXPECT_NE(outcome.report.find("(saw 7, now 7)"), std::string::npos) << outcome.report;
  EXPECT_NE(outcome.report.find("(saw 1, now 2: nobody woke it)"), std::string::npos) << outcome.report;
  EXPECT_NE(outcome.report.find("rank1/forgetful      has finished"), std::string::npos) << outcome.report;
}

#if !defined(__SANITIZE_THREAD__)  // which has its own hooks on locks
// Locks of the library may be held across yield points.
template <typename Mutex>
void hammer(std::uint64_t seed) {
  const auto scheduler = SimScheduler::create({.seed = seed});
  const auto host = scheduler->make_host("p");
  Mutex mutex;
  int inside = 0;
  int sum = 0;
  Threads threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(start(*host, "t", [&] {
      for (int turn = 0; turn < 10; ++turn) {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(++inside, 1);
        host->yield();
        ++sum;
        --inside;
      }
    }));
  }
  const SimOutcome outcome = scheduler->run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(sum, 40);
}

TEST(Scheduler, LocksMayBeHeldAcrossYields) {
  sim::link_lock_hooks();
  for (const std::uint64_t seed : sim::seeds(20)) {
    hammer<std::mutex>(seed);
    hammer<std::shared_mutex>(seed);
  }
}

TEST(Scheduler, LocksInTheWrongOrderAreReported) {
  const auto scheduler = SimScheduler::create({.seed = 1});
  const auto host = scheduler->make_host("p");
  static std::mutex one, two;  // they stay locked
  Threads threads;
  for (const bool forward : {true, false}) {
    threads.push_back(start(*host, forward ? "forward" : "backward", [&, forward] {
      const std::lock_guard first(forward ? one : two);
      sim::pass_time(*host, kMillisecond_ns);
      const std::lock_guard second(forward ? two : one);
    }));
  }
  const SimOutcome outcome = scheduler->run();
  EXPECT_EQ(outcome.ending, SimEnding::time_limit);
  EXPECT_NE(outcome.report.find("p/forward            waits for lock"), std::string::npos) << outcome.report;
  EXPECT_NE(outcome.report.find("p/backward           waits for lock"), std::string::npos) << outcome.report;
}
#endif

TEST(Scheduler, LimitsEndRunaways) {
  {
    const auto scheduler = SimScheduler::create({.seed = 1, .deadline_ns = 5 * kMillisecond_ns});
    const auto host = scheduler->make_host("p");
    Word word{0};
    const auto thread = start(*host, "naps", [&] {
      while (word == 0) host->wait(word, 0, kMillisecond_ns);
    });
    EXPECT_EQ(scheduler->run().ending, SimEnding::time_limit);
  }
  const auto scheduler = SimScheduler::create({.seed = 1, .step_limit = 1000});
  const auto host = scheduler->make_host("p");
  const auto thread = start(*host, "spins", [&] {
    for (;;) host->relax();
  });
  const SimOutcome outcome = scheduler->run();
  EXPECT_EQ(outcome.ending, SimEnding::step_limit);
  EXPECT_NE(outcome.report.find("runs"), std::string::npos) << outcome.report;
}

TEST(Scheduler, StalledThreadsFallBehind) {
  const auto scheduler = SimScheduler::create({.seed = 4, .stall_probability = 0.2, .stall_max_ns = kMillisecond_ns});
  const auto host = scheduler->make_host("p");
  const auto thread = start(*host, "t", [&] {
    for (int i = 0; i < 100; ++i) host->relax();
  });
  const SimOutcome outcome = scheduler->run();
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_GT(outcome.virtual_ns, 2 * kMillisecond_ns);
}

TEST(Scheduler, AStoppedProcessNeverRunsAgain) {
  const auto scheduler = SimScheduler::create({.seed = 6});
  const auto victim = scheduler->make_host("victim");
  const auto other = scheduler->make_host("other");
  int turns = 0;
  Threads threads;
  threads.push_back(start(*victim, "main", [&] {
    for (;; ++turns) victim->relax();
  }));
  threads.push_back(start(*other, "main", [&] {
    sim::pass_time(*other, kMillisecond_ns);
    scheduler->stop_process(*victim);
    const int before = turns;
    sim::pass_time(*other, kMillisecond_ns);
    EXPECT_EQ(turns, before);
    EXPECT_GT(turns, 0);
    scheduler->stop_process(*other);
    ADD_FAILURE() << "a stopped process went on";
  }));
  EXPECT_TRUE(scheduler->run().ok());
}

}  // namespace
}  // namespace grapnel::os
