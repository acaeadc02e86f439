// Windows whose locks are in the network domain: every kind that exists there, and what cannot be had.
// SPDX-License-Identifier: Apache-2.0
#include "window/opened.hpp"

namespace grapnel::test {
namespace {

window::Options options_of(std::optional<LockKind> kind) {
  window::Options options;
  options.lock_kind = kind;
  options.lock_domain = AtomicDomain::network;
  return options;
}

// A counter at every target, each change under its lock.
void count_at_all_targets(Runtime& g, Window& window, int rounds) {
  for (int i = 0; i < rounds * g.size(); ++i) {
    const int target = (i + me(g)) % g.size();
    std::int64_t count = -1;
    ASSERT_DONE(window.lock(target, false));
    ASSERT_DONE(window.get(side_of(&count), target, target_at(0)));
    ASSERT_DONE(window.flush(target));
    ++count;
    ASSERT_DONE(window.put(side_of(&count), target, target_at(0)));
    ASSERT_DONE(window.unlock(target));
  }
  EXPECT_OK(g.barrier());
  EXPECT_EQ(word_of(window, me(g), 0), rounds * g.size());
}

void refuse(Runtime& g, LockKind kind) {
  const auto made = windows_of(g).allocate(everyone(g), 8, 8, options_of(kind));
  EXPECT_EQ(made.status().code(), Code::invalid_argument) << made.status().to_string();
}

}  // namespace

WORLD_TEST(WindowNetworkLocks, EveryKindExcludes) {
  for (const LockKind kind : {LockKind::test_and_set, LockKind::ticket, LockKind::mcs_by_cas}) {
    if (!has_network_domain(g)) {
      refuse(g, kind);
      continue;
    }
    const auto window = allocate_words(g, 1, options_of(kind));
    ASSERT_NE(window, nullptr);
    count_at_all_targets(g, *window, 3);
    EXPECT_DONE(windows_of(g).free(*window));
  }
}

WORLD_TEST(WindowNetworkLocks, OnlyTestAndSetIsShared) {
  if (!has_network_domain(g)) return;
  const auto window = allocate_words(g, 1, options_of({}));  // reader_writer does not exist there: test_and_set
  ASSERT_NE(window, nullptr);
  ASSERT_DONE(window->lock_all());
  std::int64_t value = -1;
  ASSERT_DONE(window->get(side_of(&value), (me(g) + 1) % g.size(), target_at(0)));
  ASSERT_DONE(window->flush_all());
  EXPECT_OK(g.barrier());  // all hold a lock of another rank
  EXPECT_EQ(value, 0);
  ASSERT_DONE(window->unlock_all());
  count_at_all_targets(g, *window, 2);
  EXPECT_DONE(windows_of(g).free(*window));
  const auto queued = allocate_words(g, 1, options_of(LockKind::mcs_by_cas));
  ASSERT_NE(queued, nullptr);
  EXPECT_EQ(queued->lock(me(g), true).code(), Code::unavailable);
  count_at_all_targets(g, *queued, 1);
  EXPECT_DONE(windows_of(g).free(*queued));
  refuse(g, LockKind::cohort);
}

}  // namespace grapnel::test
