// Several threads of one rank, each with a lock of its own: whichever takes a reply, each gets what it asked for.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"

namespace grapnel::test {
namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 20;

void use_its_lock(LockSet set, int lock, Rank home) {
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_OK(set.lock(lock, home));
    EXPECT_OK(set.unlock(lock, home));
    auto request = set.start_lock(lock, home);
    ASSERT_OK(request.status());
    EXPECT_OK(set.wait(*request));
    EXPECT_OK(set.unlock(lock, home));
    const auto tried = set.try_lock(lock, home);
    ASSERT_OK(tried.status());
    if (*tried) EXPECT_OK(set.unlock(lock, home));
  }
}

}  // namespace

// The gets of this thread also take the replies that the others wait for.
WORLD_TEST_ON(LockThreads, GetTheirOwnAnswers, (std::vector<Shape>{{2, 1}, {2, 2}, {3, 3}})) {
  const auto memory = g.allocate(8);
  ASSERT_OK(memory.status());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  os::Host& host = *g.implementation().host;
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockOptions options;
    options.kind = kind;
    auto set = g.create_lock_set(kThreads, options);
    ASSERT_OK(set.status());
    std::vector<std::unique_ptr<os::Thread>> threads;
    for (int lock = 0; lock < kThreads; ++lock) {
      auto started = host.start("locker", {}, [&set, lock, next] { use_its_lock(*set, lock, next); });
      ASSERT_OK(started.status());
      threads.push_back(std::move(*started));
    }
    for (int round = 0; round < 5 * kRounds; ++round) {
      std::int64_t value = 0;
      EXPECT_OK(g.get(memory->on(next), &value, sizeof value, next));
    }
    threads.clear();
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(*set));
  }
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
