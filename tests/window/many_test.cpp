// Many windows: alive at once, and one after the other; many requests; many ranks that are not in the window.
// GRAPNEL_TEST_WINDOWS=n: so many windows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>

#include "harness/foundation.hpp"
#include "locks/exercise.hpp"
#include "window/opened.hpp"

namespace grapnel::test {
namespace {

constexpr int kRequests = 100'000;

int windows_count() {
  const char* const given = std::getenv("GRAPNEL_TEST_WINDOWS");
  return given != nullptr ? std::atoi(given) : 1000;
}

void in_a_world(Shape shape, const std::function<void(Runtime&)>& body) {
  sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto started = runtime::assemble(foundation_of(me));
    ASSERT_OK(started.status());
    body(**started);
    EXPECT_OK((*started)->finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
}

void use(Window& window, std::int64_t value) {
  const int other = 1 - window.my_place();
  EXPECT_DONE(window.lock(other, false));
  EXPECT_DONE(window.put(side_of(&value), other, target_at(0)));
  EXPECT_DONE(window.unlock(other));
}

TEST(ManyWindows, AliveAtOnce) {
  in_a_world({2, 1}, [](Runtime& g) {
    std::deque<std::shared_ptr<Window>> windows;
    for (int i = 0; i < windows_count(); ++i) {
      windows.push_back(allocate_words(g, 1));
      ASSERT_NE(windows.back(), nullptr) << i;
    }
    for (int i = 0; i < windows_count(); i += 100) use(*windows[static_cast<std::size_t>(i)], i + 1);
    EXPECT_OK(g.barrier());
    for (int i = 0; i < windows_count(); ++i) {
      Window& window = *windows[static_cast<std::size_t>(i)];
      EXPECT_EQ(word_of(window, window.my_place(), 0), i % 100 == 0 ? i + 1 : 0);
      EXPECT_DONE(windows_of(g).free(window));
    }
  });
}

TEST(ManyWindows, OneAfterTheOther) {
  in_a_world({2, 1}, [](Runtime& g) {
    const std::size_t before = g.implementation().core->segments.live_allocations();
    for (int i = 0; i < windows_count(); ++i) {
      const auto window = allocate_words(g, 1);
      ASSERT_NE(window, nullptr) << i;
      if (i % 100 == 0) use(*window, 7);
      EXPECT_DONE(windows_of(g).free(*window));
    }
    EXPECT_EQ(g.implementation().core->segments.live_allocations(), before);
  });
}

TEST(ManyRequests, Outstanding) {
  for (const int nodes : {1, 2}) {
    in_a_world({2, nodes}, [](Runtime& g) {
      const auto window = allocate_words(g, 64);
      ASSERT_NE(window, nullptr);
      const int other = 1 - window->my_place();
      word_of(*window, window->my_place(), 1) = 40 + window->my_place();
      EXPECT_OK(g.barrier());
      std::vector<std::int64_t> found(kRequests, -1);
      std::vector<window::Pending> gets(kRequests), puts(kRequests);
      const std::int64_t value = 3;
      ASSERT_DONE(window->lock(other, true));
      for (std::size_t i = 0; i < kRequests; ++i) {
        ASSERT_DONE(window->get(side_of(&found[i]), other, target_at(1), &gets[i]));
        ASSERT_DONE(window->put(side_of(&value), other, target_at(2), &puts[i]));
      }
      for (std::size_t i = 0; i < kRequests; ++i) {
        ASSERT_DONE(gets[i].wait());
        ASSERT_DONE(puts[i].wait());
        ASSERT_EQ(found[i], 40 + other);
      }
      ASSERT_DONE(window->unlock(other));
      EXPECT_OK(g.barrier());
      EXPECT_EQ(word_of(*window, window->my_place(), 2), 3);
      EXPECT_DONE(windows_of(g).free(*window));
    });
  }
}

// By kind of lock: what each node's part of the window takes, with the locks, and each member's share of it.
using BytesByKind = std::map<LockKind, std::vector<std::size_t>>;

void measure_windows(Runtime& g, std::span<const Rank> members, std::mutex& mutex, BytesByKind& bytes) {
  for (const LockKind kind : kAllLockKinds) {
    auto made = windows_of(g).allocate(members, 8, 8, {.lock_kind = kind});
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    Window& window = **made;
    for (int place = 0; place < window.size(); ++place) {
      const std::int64_t value = place;
      EXPECT_DONE(window.lock(place, false));
      EXPECT_DONE(window.put(side_of(&value), place, target_at(0)));
      EXPECT_DONE(window.unlock(place));
    }
    const void* const base = window.base_of(window.my_place());
    const std::uintptr_t end = g.implementation().core->segments.reach().end_of_segment(base);
    {
      const std::lock_guard guard(mutex);
      bytes[kind].push_back(end - reinterpret_cast<std::uintptr_t>(base));
      std::sort(bytes[kind].begin(), bytes[kind].end());
    }
    EXPECT_DONE(windows_of(g).free(window));
  }
}

// Its members are the last two ranks of the first two nodes.
BytesByKind bytes_in_a_job_of(int ranks, int nodes) {
  BytesByKind bytes;
  std::mutex mutex;
  in_a_world({ranks, nodes}, [&](Runtime& g) {
    const int each = ranks / nodes;
    const Rank members[] = {Rank{each - 2}, Rank{each - 1}, Rank{2 * each - 2}, Rank{2 * each - 1}};
    if (std::find(std::begin(members), std::end(members), g.rank()) != std::end(members)) {
      measure_windows(g, members, mutex, bytes);
    }
    EXPECT_OK(g.barrier());
  });
  return bytes;
}

TEST(WindowInALargeJob, TakesWhatItTakesInASmallOne) {
  const BytesByKind alone = bytes_in_a_job_of(4, 2), among_many = bytes_in_a_job_of(1024, 8);
  EXPECT_EQ(alone.size(), std::size(kAllLockKinds));
  EXPECT_EQ(alone, among_many);
}

}  // namespace
}  // namespace grapnel::test
