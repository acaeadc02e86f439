// How many messages the calls of a window take between two nodes, and how long `lock` takes: in simulated worlds of
// their own, because exact counts need a quiet network.
//
// Counted is what all clients and servers send from before the first call until everything is quiet again.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <functional>
#include <vector>

#include "harness/foundation.hpp"
#include "harness/wrapped_transport.hpp"
#include "window/opened.hpp"

namespace grapnel::test {
namespace {

constexpr std::uint64_t kQuiet_ns = 100 * base::kMillisecond_ns;
constexpr int kRounds = 6;  ///< after which the fence predictor has learnt what follows a write

class CountingWorker final : public PassingWorker {
 public:
  CountingWorker(std::unique_ptr<transport::Worker> worker, std::atomic<int>& count)
      : PassingWorker(std::move(worker)), count_(count) {}
  Result<transport::Sent> send(transport::EndpointId to, ByteView header, ByteView payload,
                               transport::Completion completion) override {
    ++count_;
    return worker_->send(to, header, payload, completion);
  }
  Result<transport::Sent> send_whole(transport::EndpointId to, ByteView header, ByteView payload,
                                     transport::Completion completion) override {
    ++count_;
    return worker_->send_whole(to, header, payload, completion);
  }
  Result<transport::Sent> reply(transport::ReplyPath to, ByteView header, ByteView payload,
                                transport::Completion completion) override {
    ++count_;
    return worker_->reply(to, header, payload, completion);
  }

 private:
  std::atomic<int>& count_;
};

/// Counts what the rank's client and server send.
runtime::Foundation counting_foundation(sim::RankWorld& me, std::atomic<int>& count) {
  runtime::Foundation foundation = foundation_of(me);
  foundation.make_transport = [&](const base::Config&, const launch::Launch&) {
    return Result<std::shared_ptr<transport::Transport>>(std::make_shared<WrappedTransport>(
        me.transport, [&](auto worker) { return std::make_unique<CountingWorker>(std::move(worker), count); }));
  };
  return foundation;
}

Outcome nothing(Window&) { return {}; }

/// Ranks 0 and 1 on node 0, 2 and 3 on node 1. What rank `by` does is counted in the last of several rounds; `begin` is
/// what rank 2 does before all of them, and `end` after.
struct Scene {
  std::function<Outcome(Window&)> counted, begin = nothing, end = nothing;
  Rank by{2};
};

int messages_of(const Scene& scene) {
  sim::WorldOptions options{.ranks = 4, .nodes = 2};
  std::atomic<int> count{0};
  int counted = -1;
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto started = runtime::assemble(counting_foundation(me, count));
    ASSERT_OK(started.status());
    Runtime& g = **started;
    const auto window = allocate_words(g, 256);
    ASSERT_NE(window, nullptr);
    if (index(g.rank()) == 2) {
      EXPECT_DONE(scene.begin(*window));
    }
    EXPECT_OK(g.barrier());
    for (int round = 0; round < kRounds; ++round) {
      sim::pass_time(me.host, kQuiet_ns);
      if (g.rank() == scene.by) {
        const int before = count;
        EXPECT_DONE(scene.counted(*window));
        sim::pass_time(me.host, kQuiet_ns / 2);
        counted = count - before;
      } else {
        sim::pass_time(me.host, kQuiet_ns);
      }
      EXPECT_OK(g.barrier());
    }
    if (index(g.rank()) == 2) {
      EXPECT_DONE(scene.end(*window));
    }
    EXPECT_DONE(windows_of(g).free(*window));
    EXPECT_OK(g.finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  return counted;
}

// What the operations read and write.
std::int64_t number = 1, found = 0;
std::int64_t numbers[100];

Outcome lock_all(Window& window) { return window.lock_all(); }
Outcome unlock_all(Window& window) { return window.unlock_all(); }

Outcome lock_put_unlock(Window& window, bool shared) {
  GRAPNEL_WINDOW_TRY(window.lock(0, shared));
  GRAPNEL_WINDOW_TRY(window.put(side_of(&number), 0, target_at(3)));
  return window.unlock(0);
}

TEST(WindowMessages, AnExclusiveLockAPutAndAnUnlock) {
  EXPECT_EQ(messages_of({[](Window& window) { return lock_put_unlock(window, false); }}), 5);
}

TEST(WindowMessages, OperationsAndTheirFlush) {
  const auto flushed = [](std::function<Outcome(Window&)> operation) {
    return messages_of({[operation](Window& window) {
                          GRAPNEL_WINDOW_TRY(operation(window));
                          return window.flush(0);
                        },
                        lock_all, unlock_all});
  };
  EXPECT_EQ(flushed([](Window& window) { return window.put(side_of(&number), 0, target_at(3)); }), 2);
  EXPECT_EQ(flushed([](Window& window) { return window.get(side_of(&found), 0, target_at(3)); }), 2);
  EXPECT_EQ(flushed([](Window& window) {
              return window.fetch_and_op(&number, &found, NumberType::int64, 0, 3, Operation::sum);
            }),
            2);
  EXPECT_EQ(flushed([](Window& window) { return window.compare_and_swap(&number, &found, &found, 8, 0, 3); }), 2);
  EXPECT_EQ(
      flushed([](Window& window) { return window.accumulate(side_of(&number), 0, target_at(3), Operation::product); }),
      2);
  EXPECT_EQ(flushed([](Window& window) {
              return window.get_accumulate(side_of(&number), side_of(&found), 0, target_at(3), Operation::maximum);
            }),
            2);
  EXPECT_EQ(flushed([](Window& window) {
              for (int i = 0; i < 100; ++i) {
                GRAPNEL_WINDOW_TRY(window.get(side_of(&numbers[i]), 0, target_at(i)));
              }
              return Outcome();
            }),
            200);
  EXPECT_LE(flushed([](Window& window) {
              for (int i = 0; i < 100; ++i) {
                GRAPNEL_WINDOW_TRY(window.put(side_of(&numbers[i]), 0, target_at(i)));
              }
              return Outcome();
            }),
            102);
}

// Nothing to complete, nothing to ask for.
TEST(WindowMessages, AFlushOfNothing) {
  EXPECT_EQ(messages_of({[](Window& window) { return window.flush_all(); }, lock_all, unlock_all}), 0);
}

TEST(WindowMessages, ASecondRankOfTheNodeBesideTheFirst) {
  const Scene scene{[](Window& window) {
                      GRAPNEL_WINDOW_TRY(window.lock_all());
                      GRAPNEL_WINDOW_TRY(window.put(side_of(&number), 0, target_at(3)));
                      GRAPNEL_WINDOW_TRY(window.flush(0));
                      return window.unlock_all();
                    },
                    [](Window& window) {
                      GRAPNEL_WINDOW_TRY(window.lock_all());
                      GRAPNEL_WINDOW_TRY(window.get(side_of(&found), 0, target_at(3)));
                      return window.flush(0);
                    },
                    unlock_all, Rank{3}};
  EXPECT_EQ(messages_of(scene), 2);
}

// The count of a post, and of a complete, is one message each; a put between them is not acknowledged.
TEST(WindowMessages, PostStartCompleteWait) {
  for (const int puts : {0, 1, 7}) {
    sim::WorldOptions options{.ranks = 2, .nodes = 2};
    std::atomic<int> messages{0};
    int counted = -1;
    const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
      auto started = runtime::assemble(counting_foundation(me, messages));
      ASSERT_OK(started.status());
      Runtime& g = **started;
      const auto window = allocate_words(g, 16);
      ASSERT_NE(window, nullptr);
      const std::vector<int> other{1 - static_cast<int>(g.rank())};
      EXPECT_OK(g.barrier());
      for (int round = 0; round < kRounds; ++round) {
        sim::pass_time(me.host, kQuiet_ns);
        const int before = messages;  // of the origin's and the target's: both are quiet now
        if (index(g.rank()) == 0) {
          EXPECT_DONE(window->post(other));
          EXPECT_DONE(window->wait());
          sim::pass_time(me.host, kQuiet_ns / 2);
        } else {
          EXPECT_DONE(window->start(other));
          for (int i = 0; i < puts; ++i) EXPECT_DONE(window->put(side_of(&number), 0, target_at(i)));
          EXPECT_DONE(window->complete());
          sim::pass_time(me.host, kQuiet_ns / 2);
          counted = messages - before;
        }
      }
      EXPECT_OK(g.barrier());
      EXPECT_DONE(windows_of(g).free(*window));
      EXPECT_OK(g.finish());
    });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
    EXPECT_EQ(counted, puts + 2) << puts << " puts";
  }
}

void time_lock(os::Host& host, Window& window, bool shared, bool judges) {
  const std::uint64_t begin_ns = host.now_ns();
  EXPECT_DONE(window.lock(0, shared));
  const std::uint64_t locked_ns = host.now_ns();
  EXPECT_DONE(window.flush(0));
  const std::uint64_t granted_ns = host.now_ns();
  EXPECT_DONE(window.unlock(0));
  if (!judges) return;
  EXPECT_LT(locked_ns - begin_ns, base::kMillisecond_ns);
  EXPECT_GE(granted_ns - begin_ns, 10 * base::kMillisecond_ns);
}

// On two nodes, 5 ms one way from each other.
void far_apart(const std::function<void(os::Host&, Runtime&, Window&)>& body) {
  sim::WorldOptions options{.ranks = 2, .nodes = 2};
  options.network.delay_ns = 5 * base::kMillisecond_ns;
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto started = runtime::assemble(foundation_of(me));
    ASSERT_OK(started.status());
    Runtime& g = **started;
    const auto window = allocate_words(g, 16);
    ASSERT_NE(window, nullptr);
    body(me.host, g, *window);
    EXPECT_OK(g.barrier());
    EXPECT_DONE(windows_of(g).free(*window));
    EXPECT_OK(g.finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
}

// The lock has only left; the flush has waited for its grant.
TEST(WindowMessages, ALockReturnsBeforeItsGrant) {
  for (const bool shared : {false, true}) {
    far_apart([shared](os::Host& host, Runtime& g, Window& window) {
      for (int round = 0; round < 3; ++round) {
        if (index(g.rank()) == 0) {  // what rank 1's node was granted is recalled
          EXPECT_DONE(window.lock(0, false));
          EXPECT_DONE(window.unlock(0));
        }
        EXPECT_OK(g.barrier());
        if (index(g.rank()) == 1) time_lock(host, window, shared, round > 0);  // the first one connects
        EXPECT_OK(g.barrier());
      }
    });
  }
}

// Compares are under way together; the flush waits for their answers.
TEST(WindowMessages, ACompareDoesNotWaitForItsAnswer) {
  far_apart([](os::Host& host, Runtime& g, Window& window) {
    constexpr std::int64_t kCompares = 10;
    std::int64_t before[kCompares], after = -1;
    EXPECT_DONE(window.lock_all());
    if (index(g.rank()) == 1) {
      EXPECT_DONE(window.get(side_of(&after), 0, target_at(0)));
      EXPECT_DONE(window.flush(0));  // connected, and lock_all's lock is there
      const std::uint64_t begin_ns = host.now_ns();
      for (std::int64_t i = 0; i < kCompares; ++i) {
        const std::int64_t next = i + 1;
        EXPECT_DONE(window.compare_and_swap(&next, &i, &before[i], sizeof next, 0, 0));
      }
      EXPECT_LT(host.now_ns() - begin_ns, base::kMillisecond_ns);
      EXPECT_DONE(window.flush(0));
      EXPECT_GE(host.now_ns() - begin_ns, 10 * base::kMillisecond_ns);
      EXPECT_LT(host.now_ns() - begin_ns, 20 * base::kMillisecond_ns);
      for (std::int64_t i = 0; i < kCompares; ++i) EXPECT_EQ(before[i], i);
      EXPECT_DONE(window.get(side_of(&after), 0, target_at(0)));
      EXPECT_DONE(window.flush(0));
      EXPECT_EQ(after, kCompares);
    }
    EXPECT_DONE(window.unlock_all());
  });
}

}  // namespace
}  // namespace grapnel::test
