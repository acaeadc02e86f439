// What every kind of lock keeps, in all worlds.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/codec.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {

WORLD_TEST(LockConformance, NoIncrementIsLost) {
  const auto memory = g.allocate(16);
  ASSERT_TRUE(memory.ok());
  const Rank home{g.size() / 2};
  constexpr int kEach = 8;
  for (const LockVariant& variant : lock_variants(g)) {
    SCOPED_TRACE(variant.name());
    std::int64_t before = 0;
    EXPECT_OK(g.get(memory->on(home), &before, sizeof before, home));
    LockOptions options = variant.options();
    const auto locks = g.create_lock_set(3, options);
    ASSERT_TRUE(locks.ok()) << locks.status().to_string();
    LockSet set = *locks;
    for (int i = 0; i < kEach; ++i) {
      EXPECT_OK(set.lock(1, home));
      std::int64_t value = 0;  // a read and a write that only the lock keeps together
      EXPECT_OK(g.get(memory->on(home), &value, sizeof value, home));
      ++value;
      EXPECT_OK(g.put(&value, memory->on(home), sizeof value, home));
      EXPECT_OK(g.fence(home));
      EXPECT_OK(set.unlock(1, home));
    }
    EXPECT_OK(g.barrier());
    std::int64_t value = 0;
    EXPECT_OK(g.get(memory->on(home), &value, sizeof value, home));
    EXPECT_EQ(value, before + std::int64_t{kEach} * g.size());
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(set));
  }
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(LockConformance, MisuseIsAnErrorAndHarmsNothing) {
  for (const LockVariant& variant : lock_variants(g)) {
    SCOPED_TRACE(variant.name());
    LockOptions options = variant.options();
    auto created = g.create_lock_set(2, options);
    ASSERT_TRUE(created.ok());
    LockSet set = *created;
    const Rank me = g.rank();
    EXPECT_CODE(Code::invalid_argument, set.lock(2, Rank{0}));
    EXPECT_CODE(Code::invalid_argument, set.lock(-1, Rank{0}));
    EXPECT_CODE(Code::invalid_argument, set.lock(0, Rank{g.size()}));
    EXPECT_CODE(Code::invalid_argument, set.lock(0, Rank{-1}));
    EXPECT_CODE(Code::invalid_argument, set.unlock(0, Rank{0}));
    EXPECT_CODE(Code::invalid_argument, set.unlock_shared(0, Rank{0}));
    EXPECT_OK(set.lock(0, me));
    EXPECT_CODE(Code::invalid_argument, set.lock(0, me));
    EXPECT_CODE(Code::invalid_argument, set.try_lock(0, me).status());
    EXPECT_CODE(Code::invalid_argument, set.start_lock(0, me).status());
    EXPECT_CODE(Code::invalid_argument, set.unlock_shared(0, me));
    EXPECT_CODE(Code::invalid_argument, set.unlock_with(0, me, base::bytes_of(1)));  // made without payloads
    EXPECT_CODE(Code::invalid_argument, g.destroy_lock_set(set));                    // on all ranks
    EXPECT_OK(set.unlock(0, me));
    EXPECT_CODE(Code::invalid_argument, set.unlock(0, me));
    const Status shared = set.lock_shared(1, me);
    EXPECT_EQ(shared.ok(), variant.kind == LockKind::reader_writer) << shared.to_string();
    if (shared.ok()) {
      EXPECT_CODE(Code::invalid_argument, set.unlock(1, me));
      EXPECT_OK(set.unlock_shared(1, me));
    } else {
      EXPECT_EQ(shared.code(), Code::unavailable);
    }
    // What was asked for is neither held nor free to be asked for again.
    auto request = set.start_lock(1, me);
    ASSERT_TRUE(request.ok());
    EXPECT_CODE(Code::invalid_argument, set.unlock(1, me));
    EXPECT_CODE(Code::invalid_argument, set.lock_for(1, me, base::kMillisecond_ns));
    EXPECT_CODE(Code::invalid_argument, g.destroy_lock_set(set));
    EXPECT_OK(set.wait(*request));
    EXPECT_CODE(Code::invalid_argument, set.wait(*request));
    EXPECT_CODE(Code::invalid_argument, set.test(*request).status());
    EXPECT_OK(set.unlock(1, me));
    EXPECT_OK(g.barrier());
    // One holder is enough to keep the set, for all.
    if (index(me) == 0) EXPECT_OK(set.lock(1, Rank{0}));
    const Status kept = g.destroy_lock_set(set);
    EXPECT_CODE(Code::invalid_argument, kept);
    EXPECT_NE(kept.message().find("rank 0 holds or awaits"), std::string::npos) << kept.to_string();
    if (index(me) == 0) EXPECT_OK(set.unlock(1, Rank{0}));
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(set));
    // Nothing is left of it but errors.
    EXPECT_CODE(Code::invalid_argument, g.destroy_lock_set(set));
    EXPECT_CODE(Code::invalid_argument, set.lock(0, me));
    EXPECT_CODE(Code::invalid_argument, set.unlock(0, me));
    EXPECT_CODE(Code::invalid_argument, set.try_lock(0, me).status());
    EXPECT_CODE(Code::invalid_argument, set.start_lock(0, me).status());
  }
  EXPECT_CODE(Code::invalid_argument, LockSet().lock(0, Rank{0}));
  EXPECT_OK(g.create_locks(1));
  EXPECT_CODE(Code::invalid_argument, g.create_locks(1));
  EXPECT_OK(g.destroy_locks());
  EXPECT_CODE(Code::invalid_argument, g.destroy_locks());
  EXPECT_CODE(Code::invalid_argument, g.lock(0, Rank{0}));
  LockOptions too_much;
  too_much.payload_bytes = kMostLockPayload + 1;
  EXPECT_CODE(Code::invalid_argument, g.create_lock_set(1, too_much).status());
  EXPECT_CODE(Code::invalid_argument, g.create_lock_set(0).status());
}

// A request can be copied, and handed to any set.
WORLD_TEST(LockConformance, MisuseOfARequestIsAnError) {
  auto other = g.create_lock_set(2);
  ASSERT_OK(other.status());
  const Rank me = g.rank();
  for (const LockVariant& variant : lock_variants(g)) {
    SCOPED_TRACE(variant.name());
    LockOptions options = variant.options();
    auto set = g.create_lock_set(2, options);
    ASSERT_OK(set.status());
    auto request = set->start_lock(1, me);
    ASSERT_OK(request.status());
    LockRequest copy = *request;
    EXPECT_CODE(Code::invalid_argument, other->wait(*request));
    EXPECT_CODE(Code::invalid_argument, other->test(*request).status());
    EXPECT_OK(set->wait(*request));
    EXPECT_OK(set->unlock(1, me));
    EXPECT_CODE(Code::invalid_argument, set->wait(copy));
    EXPECT_CODE(Code::invalid_argument, set->test(copy).status());
    EXPECT_CODE(Code::invalid_argument, set->unlock(1, me));
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(*set));
  }
  EXPECT_OK(g.destroy_lock_set(*other));
}

// Ranks that disagree would find each other's words in the wrong places; one that is refused must not leave the others
// waiting.
WORLD_TEST_ON(LockConformance, SetsAreCreatedAlikeOrNotAtAll, shapes_from(2)) {
  const bool last = index(g.rank()) + 1 == static_cast<std::size_t>(g.size());
  const auto refused = [&](int count, const LockOptions& options) {
    const Status created = last ? g.create_lock_set(count, options).status() : g.create_lock_set(2).status();
    EXPECT_CODE(Code::invalid_argument, created);
    return created.message();
  };
  LockOptions kind, payload, lines, too_much;
  kind.kind = LockKind::mcs;  // which the standard is not
  payload.payload_bytes = 8;
  lines.lines = 4;
  too_much.payload_bytes = kMostLockPayload + 1;
  EXPECT_NE(refused(3, {}).find("created alike in all ranks"), std::string::npos);
  refused(2, kind);
  refused(2, payload);
  refused(2, lines);
  refused(0, {});
  refused(2, too_much);
  auto created = g.create_lock_set(2);
  ASSERT_OK(created.status());
  EXPECT_OK(created->lock(1, Rank{0}));
  EXPECT_OK(created->unlock(1, Rank{0}));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(*created));
}

WORLD_TEST_ON(LockConformance, TryAndTimeoutsLeaveTheQueueWhole, shapes_from(2)) {
  os::Host& host = *g.implementation().host;
  const bool holds = index(g.rank()) == 0;
  for (const LockVariant& variant : lock_variants(g)) {
    SCOPED_TRACE(variant.name());
    LockOptions options = variant.options();
    auto created = g.create_lock_set(1, options);
    ASSERT_TRUE(created.ok());
    LockSet set = *created;
    const Rank home{g.size() - 1};
    for (int round = 0; round < 2; ++round) {
      if (holds) EXPECT_OK(set.lock(0, home));
      EXPECT_OK(g.barrier());
      if (!holds) {
        const auto tried = set.try_lock(0, home);
        ASSERT_TRUE(tried.ok()) << tried.status().to_string();
        EXPECT_FALSE(*tried);
        const std::uint64_t start_ns = host.now_ns();
        EXPECT_CODE(Code::timed_out, set.lock_for(0, home, 2 * base::kMillisecond_ns));
        EXPECT_GE(host.now_ns() - start_ns, 2 * base::kMillisecond_ns);
        EXPECT_CODE(Code::invalid_argument, set.unlock(0, home));
      }
      EXPECT_OK(g.barrier());
      if (holds) EXPECT_OK(set.unlock(0, home));
      EXPECT_OK(set.lock_for(0, home, 20 * base::kSecond_ns));  // through all the places that were given up
      EXPECT_OK(set.unlock(0, home));
      EXPECT_OK(g.barrier());
    }
    EXPECT_OK(g.destroy_lock_set(set));
  }
}

// More often than a rank has records: a rank that arrives again takes up the place that it left.
WORLD_TEST_ON(LockConformance, GivingUpOftenTakesNoMoreMemory, (std::vector<Shape>{{3, 1}, {3, 2}})) {
  for (const LockVariant& variant : lock_variants(g)) {
    SCOPED_TRACE(variant.name());
    LockOptions options = variant.options();
    options.backoff_ns = 500;
    auto created = g.create_lock_set(1, options);
    ASSERT_TRUE(created.ok());
    LockSet set = *created;
    const Rank home{0};
    if (index(g.rank()) == 0) EXPECT_OK(set.lock(0, home));
    EXPECT_OK(g.barrier());
    for (int i = 0; i < 300 && index(g.rank()) != 0; ++i) {
      EXPECT_CODE(Code::timed_out, set.lock_for(0, home, base::kMicrosecond_ns));
    }
    EXPECT_OK(g.barrier());
    if (index(g.rank()) == 0) EXPECT_OK(set.unlock(0, home));
    EXPECT_OK(set.lock(0, home));
    EXPECT_OK(set.unlock(0, home));
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(set));
  }
}

// The timeouts sweep over the moment of the release: some end before the grant, some after, some while it is under way.
WORLD_TEST_ON(LockConformance, GrantsAndTimeoutsCross, (std::vector<Shape>{{2, 1}, {2, 2}, {3, 2}, {5, 2}})) {
  os::Host& host = *g.implementation().host;
  const bool holds = index(g.rank()) == 0;
  for (const LockVariant& variant : lock_variants(g)) {
    SCOPED_TRACE(variant.name());
    LockOptions options = variant.options();
    options.backoff_ns = 500;
    options.backoff_most_ns = 4 * base::kMicrosecond_ns;
    auto created = g.create_lock_set(1, options);
    ASSERT_TRUE(created.ok());
    LockSet set = *created;
    const Rank home{g.size() - 1};
    int gave_up = 0, got = 0;
    for (std::uint64_t step = 0; step < 24; ++step) {
      if (holds) EXPECT_OK(set.lock(0, home));
      EXPECT_OK(g.barrier());
      if (holds) {
        sim::pass_time(host, 30 * base::kMicrosecond_ns);
        EXPECT_OK(set.unlock(0, home));
      } else {
        // From long before the release to long after it.
        const Status taken =
            set.lock_for(0, home, step == 23 ? 20 * base::kSecond_ns : step * 5 * base::kMicrosecond_ns);
        EXPECT_TRUE(taken.ok() || taken.code() == Code::timed_out) << taken.to_string();
        ++(taken.ok() ? got : gave_up);
        if (taken.ok()) EXPECT_OK(set.unlock(0, home));
      }
      EXPECT_OK(g.barrier());
      // No rank is kept out by a place that was left.
      EXPECT_OK(set.lock(0, home));
      EXPECT_OK(set.unlock(0, home));
      EXPECT_OK(g.barrier());
    }
    EXPECT_TRUE(holds || got > 0);
    EXPECT_EQ(got + gave_up, holds ? 0 : 24);
    EXPECT_OK(g.destroy_lock_set(set));
  }
}

// What does not exist there is refused by all, and nothing is taken.
WORLD_TEST(LockConformance, TheNetworkDomainHasThreeKinds) {
  LockOptions options;
  options.domain = AtomicDomain::network;
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    options.kind = kind;
    const bool exists =
        std::find(std::begin(kNetworkLockKinds), std::end(kNetworkLockKinds), kind) != std::end(kNetworkLockKinds);
    const auto made = g.create_lock_set(2, options);
    EXPECT_EQ(made.ok(), exists && has_network_domain(g)) << made.status().to_string();
    if (made.ok()) {
      EXPECT_OK(g.destroy_lock_set(*made));
    } else {
      EXPECT_CODE(Code::unavailable, made.status());
    }
  }
  options.kind = LockKind::ticket;
  options.shared_mode = true;
  EXPECT_CODE(Code::unavailable, g.create_lock_set(2, options).status());
  options.kind = LockKind::test_and_set;
  options.payload_bytes = 8;
  EXPECT_CODE(Code::unavailable, g.create_lock_set(2, options).status());
  if (!has_network_domain(g)) return;
  options = {};
  options.domain = AtomicDomain::network;
  auto made = g.create_lock_set(1, options);
  ASSERT_OK(made.status());
  EXPECT_EQ(made->kind(), LockKind::mcs_by_cas);  // the standard one, cohort, does not exist there
  EXPECT_OK(g.destroy_lock_set(*made));
}

// Several readers inside at once, and a writer alone: by the value that the comparison returns.
WORLD_TEST_ON(LockConformance, ReadersShareTestAndSetOfTheNetworkDomain, shapes_from(2)) {
  if (!has_network_domain(g)) return;
  LockOptions options = LockVariant(LockKind::test_and_set, AtomicDomain::network).options();
  options.shared_mode = true;
  auto made = g.create_lock_set(1, options);
  ASSERT_OK(made.status());
  LockSet set = *made;
  const Rank home{g.size() - 1};
  EXPECT_OK(set.lock_shared(0, home));
  EXPECT_OK(g.barrier());  // all are inside
  const auto tried = set.try_lock(0, home);
  EXPECT_CODE(Code::invalid_argument, tried.status());  // its own
  EXPECT_OK(g.barrier());
  if (index(g.rank()) == 0) {
    EXPECT_OK(set.unlock_shared(0, home));
    EXPECT_CODE(Code::timed_out, set.lock_for(0, home, base::kMillisecond_ns));
  }
  EXPECT_OK(g.barrier());
  if (index(g.rank()) != 0) EXPECT_OK(set.unlock_shared(0, home));
  if (index(g.rank()) == 0) {
    EXPECT_OK(set.lock(0, home));
    EXPECT_OK(g.barrier());
  } else {
    EXPECT_OK(g.barrier());
    const auto shared = set.try_lock_shared(0, home);
    ASSERT_OK(shared.status());
    EXPECT_FALSE(*shared);
  }
  EXPECT_OK(g.barrier());
  if (index(g.rank()) == 0) EXPECT_OK(set.unlock(0, home));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(set));
}

WORLD_TEST(LockConformance, ThousandsOfLocksInSeveralSets) {
  constexpr int kLocks = 1000;
  std::vector<LockSet> sets;
  for (const LockKind kind : {LockKind::cohort, LockKind::mcs, LockKind::reader_writer}) {
    LockOptions options;
    options.kind = kind;
    auto created = g.create_lock_set(kLocks, options);
    ASSERT_TRUE(created.ok()) << created.status().to_string();
    sets.push_back(*created);
  }
  base::Random random(world_seed() + index(g.rank()));
  for (LockSet& set : sets) {
    std::vector<std::pair<int, Rank>> held;
    for (int i = 0; i < 20; ++i) {
      // Ascending, so that no rank waits in a circle.
      const int lock = i * (kLocks / 20) + static_cast<int>(random.below(kLocks / 20));
      const Rank home = Rank(static_cast<int>(random.below(static_cast<std::uint64_t>(g.size()))));
      EXPECT_OK(set.lock(lock, home));
      held.emplace_back(lock, home);
    }
    for (const auto& [lock, home] : held) EXPECT_OK(set.unlock(lock, home));
  }
  EXPECT_OK(g.barrier());
  for (LockSet& set : sets) EXPECT_OK(g.destroy_lock_set(set));
}

// More than the credits of a pair of servers (progress/internal/server_links.hpp): the home's server grants every time.
WORLD_TEST_ON(LockConformance, ServersGrantMoreThanTheirCredits, (std::vector<Shape>{{2, 2}, {3, 3}})) {
  LockOptions options;
  options.kind = LockKind::reader_writer;
  auto created = g.create_lock_set(1, options);
  ASSERT_TRUE(created.ok());
  for (int i = 0; i < 600 && index(g.rank()) == 1; ++i) {
    EXPECT_OK(created->lock(0, Rank{0}));
    EXPECT_OK(created->unlock(0, Rank{0}));
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(*created));
}

WORLD_TEST(LockConformance, ATableThatIsFullIsAnError) {
  if (g.node_count() == 1) return;  // no lines there
  LockOptions options;
  options.kind = LockKind::cohort;
  options.lines = 4;
  auto created = g.create_lock_set(64, options);
  ASSERT_TRUE(created.ok());
  LockSet set = *created;
  const Rank home = Rank(g.same_node(Rank{0}) ? g.size() - 1 : 0);
  int refused = 0;
  for (int lock = 0; lock < 64; ++lock) {
    const Status taken = set.lock(lock, home);
    if (taken.ok()) EXPECT_OK(set.unlock(lock, home));
    if (taken.code() == Code::no_memory) ++refused;
  }
  EXPECT_GE(refused, 64 - 8);
  EXPECT_OK(set.lock(0, home));  // what was used before continues
  EXPECT_OK(set.unlock(0, home));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(set));
}

}  // namespace grapnel::test
