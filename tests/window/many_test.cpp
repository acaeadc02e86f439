// Many windows: alive at once, and one after the other; and many requests. GRAPNEL_TEST_WINDOWS=n: so many windows.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <deque>

#include "harness/foundation.hpp"
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
  EXPECT_DONE(window.put(side_of(&value), other, place_at(0)));
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
    const std::size_t before = RuntimeAccess::parts(g).core->segments.live_allocations();
    for (int i = 0; i < windows_count(); ++i) {
      const auto window = allocate_words(g, 1);
      ASSERT_NE(window, nullptr) << i;
      if (i % 100 == 0) use(*window, 7);
      EXPECT_DONE(windows_of(g).free(*window));
    }
    EXPECT_EQ(RuntimeAccess::parts(g).core->segments.live_allocations(), before);
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
        ASSERT_DONE(window->get(side_of(&found[i]), other, place_at(1), &gets[i]));
        ASSERT_DONE(window->put(side_of(&value), other, place_at(2), &puts[i]));
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

}  // namespace
}  // namespace grapnel::test
