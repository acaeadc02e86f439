// Shared locks in any order: ranks that hold one and want another never wait for each other through writers.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"
#include "window/opened.hpp"

namespace grapnel::test {
namespace {

std::shared_ptr<Window> allocate(Runtime& g, LockKind kind) {
  window::Options options;
  options.lock_kind = kind;
  return allocate_words(g, 1, options);
}

void read(Window& window, int target) {
  std::int64_t word = -1;
  ASSERT_DONE(window.get(side_of(&word), target, target_at(0)));
  ASSERT_DONE(window.flush(target));
}

void write(Window& window, int target) {
  std::int64_t word = 0;
  ASSERT_DONE(window.lock(target, false));
  ASSERT_DONE(window.get(side_of(&word), target, target_at(0)));
  ASSERT_DONE(window.flush(target));
  ++word;
  ASSERT_DONE(window.put(side_of(&word), target, target_at(0)));
  ASSERT_DONE(window.unlock(target));
}

const std::vector<Shape> kShapes{{4, 1}, {4, 2}, {4, 4}, {5, 3}, {8, 3}};

}  // namespace

// Ranks 0 and 1 each read one target, a writer waits at either, and both want to read the other's target, of the same
// window or of another one.
WORLD_TEST_ON(WindowSharedOrder, TwoTargetsInOppositeOrder, kShapes) {
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    const auto first = allocate(g, kind), second = allocate(g, kind);
    ASSERT_TRUE(first != nullptr && second != nullptr);
    Window* const windows[2][2] = {{first.get(), first.get()}, {first.get(), second.get()}};
    const int mine = me(g) % 2, other = 1 - mine;
    int round = 0;
    for (const auto& pair : windows) {
      const int targets[] = {round, g.size() - 1 - round};
      ++round;
      if (me(g) < 2) {
        ASSERT_DONE(pair[mine]->lock(targets[mine], true));
        read(*pair[mine], targets[mine]);
      }
      EXPECT_OK(g.barrier());
      if (me(g) < 2) {
        sim::pass_time(*g.implementation().host, 3 * base::kMillisecond_ns);  // both writers wait
        ASSERT_DONE(pair[other]->lock(targets[other], true));
        read(*pair[other], targets[other]);
        ASSERT_DONE(pair[mine]->unlock(targets[mine]));
        ASSERT_DONE(pair[other]->unlock(targets[other]));
      } else {
        write(*pair[mine], targets[mine]);
      }
      EXPECT_OK(g.barrier());
      const int writers = (g.size() - 2 + (me(g) == targets[0] ? 1 : 0)) / 2;
      for (const int k : {0, 1}) {
        if (me(g) != targets[k]) continue;
        EXPECT_EQ(word_of(*pair[k], me(g), 0), writers);
        word_of(*pair[k], me(g), 0) = 0;
      }
      EXPECT_OK(g.barrier());
    }
    EXPECT_DONE(windows_of(g).free(*second));
    EXPECT_DONE(windows_of(g).free(*first));
  }
}

// Two ranks in lock_all use the targets in opposite order, while the others write.
WORLD_TEST_ON(WindowSharedOrder, LockAllInOppositeOrder, kShapes) {
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    const auto window = allocate(g, kind);
    ASSERT_NE(window, nullptr);
    for (int round = 0; round < 3; ++round) {
      if (me(g) < 2) {
        ASSERT_DONE(window->lock_all());
        for (int step = 0; step < g.size(); ++step) {
          read(*window, me(g) == 0 ? step : g.size() - 1 - step);
          sim::pass_time(*g.implementation().host, 200 * base::kMicrosecond_ns);
        }
        ASSERT_DONE(window->unlock_all());
      } else {
        for (int step = 0; step < g.size(); ++step) write(*window, (me(g) + step) % g.size());
      }
    }
    EXPECT_OK(g.barrier());
    EXPECT_EQ(word_of(*window, me(g), 0), 3 * (g.size() - 2));
    EXPECT_OK(g.barrier());
    EXPECT_DONE(windows_of(g).free(*window));
  }
}

}  // namespace grapnel::test
