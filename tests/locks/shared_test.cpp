// Shared and exclusive, of every kind, in all worlds: which ranks may be inside together, and which must wait.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/codec.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "locks/lock_set.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

using base::kMicrosecond_ns;
using base::kMillisecond_ns;

LockSet make(Runtime& g, LockKind kind, std::size_t payload_bytes = 0) {
  LockOptions options;
  options.kind = kind;
  options.shared_mode = true;
  options.payload_bytes = payload_bytes;
  options.backoff_ns = 500;
  options.backoff_most_ns = 20 * kMicrosecond_ns;
  auto created = g.create_lock_set(1, options);
  EXPECT_OK(created.status());
  return created.ok() ? *created : LockSet();
}

// Releases of other nodes are under way for a while.
void settle(Runtime& g) { sim::pass_time(*g.implementation().host, 20 * kMillisecond_ns); }

// It is free; on a busy machine a release may still be under way.
void take_free(Runtime& g, LockSet& set, Rank home, bool shared) {
  settle(g);
  const auto tried = shared ? set.try_lock_shared(0, home) : set.try_lock(0, home);
  ASSERT_OK(tried.status());
  EXPECT_TRUE(*tried || !world_has_virtual_time());
  if (!*tried) EXPECT_OK(shared ? set.lock_shared(0, home) : set.lock(0, home));
}

// Reader after reader: each passes through the lock, so two that try at once are in each other's way.
void enter_one_by_one(Runtime& g, LockSet& set, Rank home) {
  for (int rank = 0; rank < g.size(); ++rank) {
    if (static_cast<int>(index(g.rank())) == rank) take_free(g, set, home, true);
    EXPECT_OK(g.barrier());
  }
}

bool is_last(Runtime& g) { return static_cast<int>(index(g.rank())) == g.size() - 1; }

}  // namespace

WORLD_TEST(LockSharedMode, ReadersShareAndAWriterIsAlone) {
  const Rank home{g.size() / 2};
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockSet set = make(g, kind);
    // All at once are inside: the barrier ends with all of them there.
    EXPECT_OK(set.lock_shared(0, home));
    EXPECT_OK(g.barrier());
    EXPECT_OK(set.unlock_shared(0, home));
    EXPECT_OK(g.barrier());
    enter_one_by_one(g, set, home);
    if (is_last(g)) EXPECT_OK(set.unlock_shared(0, home));
    if (is_last(g) && g.size() > 1) {
      const auto tried = set.try_lock(0, home);
      EXPECT_TRUE(tried.ok() && !*tried);
      EXPECT_CODE(Code::timed_out, set.lock_for(0, home, kMillisecond_ns));
      EXPECT_FALSE(set.set()->acquire_at_once(0, home, false));
      // What gave up has left nothing behind; of reader_writer the node's request stays (docs/locks.md).
      if (kind != LockKind::reader_writer) {
        take_free(g, set, home, true);
        EXPECT_OK(set.unlock_shared(0, home));
      }
    }
    EXPECT_OK(g.barrier());
    if (!is_last(g)) EXPECT_OK(set.unlock_shared(0, home));
    EXPECT_OK(g.barrier());
    if (is_last(g)) take_free(g, set, home, false);
    EXPECT_OK(g.barrier());
    if (!is_last(g)) {
      const auto tried = set.try_lock_shared(0, home);
      EXPECT_TRUE(tried.ok() && !*tried);
      EXPECT_CODE(Code::timed_out, set.lock_shared_for(0, home, kMillisecond_ns));
      EXPECT_FALSE(set.set()->acquire_at_once(0, home, true));
    }
    EXPECT_OK(g.barrier());
    if (is_last(g)) EXPECT_OK(set.unlock(0, home));
    EXPECT_OK(set.lock_shared(0, home));
    EXPECT_OK(set.unlock_shared(0, home));
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(set));
  }
}

WORLD_TEST(LockSharedMode, MisuseIsAnErrorAndHarmsNothing) {
  const Rank me = g.rank();
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockSet set = make(g, kind);
    EXPECT_CODE(Code::invalid_argument, set.unlock_shared(0, me));
    EXPECT_OK(set.lock_shared(0, me));
    EXPECT_CODE(Code::invalid_argument, set.lock_shared(0, me));
    EXPECT_CODE(Code::invalid_argument, set.lock(0, me));
    EXPECT_CODE(Code::invalid_argument, set.try_lock(0, me).status());
    EXPECT_CODE(Code::invalid_argument, set.start_lock_shared(0, me).status());
    EXPECT_CODE(Code::invalid_argument, set.unlock(0, me));
    EXPECT_FALSE(set.set()->acquire_at_once(0, me, true));
    EXPECT_CODE(Code::invalid_argument, g.destroy_lock_set(set));
    EXPECT_OK(set.unlock_shared(0, me));
    EXPECT_OK(set.lock(0, me));
    EXPECT_CODE(Code::invalid_argument, set.unlock_shared(0, me));
    EXPECT_OK(set.unlock(0, me));
    EXPECT_FALSE(set.set()->acquire_at_once(1, me, true));
    EXPECT_FALSE(set.set()->acquire_at_once(0, Rank{g.size()}, true));
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(set));
    EXPECT_CODE(Code::invalid_argument, set.lock_shared(0, me));
  }
  // All ranks must create it with the same options.
  LockOptions options;
  options.kind = LockKind::ticket;
  options.shared_mode = index(me) == 0;
  const auto created = g.create_lock_set(1, options);
  EXPECT_EQ(created.ok(), g.size() == 1) << created.status().to_string();
  if (created.ok()) EXPECT_OK(g.destroy_lock_set(*created));
}

// Without the option it is as before.
WORLD_TEST(LockSharedMode, IsAnOption) {
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockOptions options;
    options.kind = kind;
    auto created = g.create_lock_set(1, options);
    ASSERT_OK(created.status());
    if (kind != LockKind::reader_writer) {
      EXPECT_CODE(Code::unavailable, created->lock_shared(0, g.rank()));
      EXPECT_CODE(Code::unavailable, created->start_lock_shared(0, g.rank()).status());
      EXPECT_FALSE(created->set()->acquire_at_once(0, g.rank(), true));
    }
    EXPECT_OK(created->lock(0, g.rank()));  // nothing was left behind
    EXPECT_OK(created->unlock(0, g.rank()));
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(*created));
  }
}

// At home of a lock that is free, in both modes.
WORLD_TEST(LockSharedMode, IsTakenAtOnceWhereNoRankIsAsked) {
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockSet created = make(g, kind);
    locks::Set& set = *created.set();
    const Rank me = g.rank();
    // These two ask their server in a job of several nodes, also at home; reader_writer not where the node has a grant.
    const bool asks = g.node_count() > 1 && (kind == LockKind::server_queue || kind == LockKind::reader_writer);
    if (asks) EXPECT_OK(set.acquire(0, me, {.shared = true}, nullptr));
    if (asks) EXPECT_OK(set.release(0, me, true, {}));
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t messages = set.counts().messages;
      const bool shared = set.acquire_at_once(0, me, true);
      EXPECT_EQ(shared, !asks || kind == LockKind::reader_writer);
      if (shared) EXPECT_OK(set.release(0, me, true, {}));
      const bool sole = set.acquire_at_once(0, me, false);
      EXPECT_EQ(sole, !asks);
      EXPECT_EQ(set.counts().messages, messages);
      if (sole) EXPECT_OK(set.release(0, me));
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(created));
  }
}

// An acquisition that was started and is not tested keeps no reader out.
WORLD_TEST_ON(LockSharedMode, AReaderThatDoesNotLookKeepsNoReaderOut,
              (std::vector<Shape>{{3, 1}, {3, 2}, {3, 3}, {4, 2}})) {
  const Rank home{0};
  const std::size_t me = index(g.rank());
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockSet set = make(g, kind);
    LockRequest request;
    for (const bool tests : {false, true}) {
      if (me == 0) EXPECT_OK(set.lock(0, home));
      EXPECT_OK(g.barrier());
      if (me == 1) {
        auto started = set.start_lock_shared(0, home);
        ASSERT_OK(started.status());
        request = *started;
      }
      EXPECT_OK(g.barrier());
      if (me == 0) EXPECT_OK(set.unlock(0, home));
      if (me != 1) EXPECT_OK(set.lock_shared(0, home));
      EXPECT_OK(g.barrier());
      if (me == 1) {
        bool there = false;
        for (int i = 0; tests && !there && i < 1'000'000; ++i) {
          const auto tested = set.test(request);
          ASSERT_OK(tested.status());
          there = *tested;
          if (!there) sim::pass_time(*g.implementation().host, 10 * kMicrosecond_ns);
        }
        EXPECT_EQ(there, tests);
        if (!there) EXPECT_OK(set.wait(request));
      }
      EXPECT_OK(g.barrier());  // all are inside
      EXPECT_OK(set.unlock_shared(0, home));
      EXPECT_OK(g.barrier());
    }
    EXPECT_OK(g.destroy_lock_set(set));
  }
}

WORLD_TEST_ON(LockSharedMode, AWriterThatWasStartedWaitsForTheReaders,
              (std::vector<Shape>{{2, 1}, {3, 1}, {2, 2}, {3, 2}, {3, 3}, {4, 2}})) {
  for (const LockKind kind : kAllLockKinds) {
    for (const Rank home : {Rank{0}, Rank{g.size() - 1}}) {
      SCOPED_TRACE(to_string(kind));
      LockSet set = make(g, kind);
      if (!is_last(g)) EXPECT_OK(set.lock_shared(0, home));
      EXPECT_OK(g.barrier());
      LockRequest request;
      if (is_last(g)) {
        auto started = set.start_lock(0, home);
        ASSERT_OK(started.status());
        request = *started;
        for (int i = 0; i < 20; ++i) {
          const auto tested = set.test(request);
          EXPECT_TRUE(tested.ok() && !*tested);
          sim::pass_time(*g.implementation().host, 10 * kMicrosecond_ns);
        }
      }
      EXPECT_OK(g.barrier());
      if (!is_last(g)) EXPECT_OK(set.unlock_shared(0, home));
      if (is_last(g)) EXPECT_OK(set.wait(request));
      if (is_last(g)) EXPECT_OK(set.unlock(0, home));
      EXPECT_OK(g.barrier());
      EXPECT_OK(g.destroy_lock_set(set));
    }
  }
}

// A reader is always inside: each leaves only after another was admitted. A writer that waited for a moment without
// readers would wait to the end.
WORLD_TEST_ON(LockSharedMode, ReadersThatNeverStopDoNotKeepAWriterOut, (std::vector<Shape>{{4, 1}, {4, 2}, {4, 4}})) {
  if (!world_has_virtual_time()) return;  // when they overlap is the machine's affair; endurance_test.cpp has that
  os::Host& host = *g.implementation().host;
  const Rank home{0};
  for (const LockKind kind : kAllLockKinds) {
    if (kind == LockKind::test_and_set) continue;  // no order
    SCOPED_TRACE(to_string(kind));
    LockSet set = make(g, kind);
    EXPECT_OK(g.barrier());
    const std::uint64_t begin_ns = host.now_ns(), end_ns = begin_ns + 20 * kMillisecond_ns;
    if (is_last(g)) {
      sim::pass_time(host, 2 * kMillisecond_ns);
      EXPECT_OK(set.lock(0, home));
      EXPECT_LT(host.now_ns(), begin_ns + 5 * kMillisecond_ns);
      EXPECT_OK(set.unlock(0, home));
    }
    for (sim::pass_time(host, index(g.rank()) * 300 * kMicrosecond_ns); !is_last(g) && host.now_ns() < end_ns;) {
      EXPECT_OK(set.lock_shared(0, home));
      sim::pass_time(host, kMillisecond_ns);
      EXPECT_OK(set.unlock_shared(0, home));
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(set));
  }
}

// The longest payload, beside the tally: from a writer, through readers, to the next writer.
WORLD_TEST_ON(LockSharedMode, ReadersPassThePayloadOn, (std::vector<Shape>{{1, 1}, {3, 1}, {3, 2}, {3, 3}})) {
  const Rank home{0};
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockSet set = make(g, kind, kMostLockPayload);
    Bytes left(kMostLockPayload, std::byte{7});
    left.back() = std::byte{9};
    if (is_last(g)) {
      EXPECT_TRUE(set.lock_with(0, home, {}).ok());
      EXPECT_OK(set.unlock_with(0, home, left));
    }
    EXPECT_OK(g.barrier());
    const auto read = set.lock_shared_with(0, home, {});
    ASSERT_OK(read.status());
    EXPECT_EQ(*read, left);
    EXPECT_OK(set.unlock_shared(0, home));
    EXPECT_OK(g.barrier());
    if (index(g.rank()) == 0) {
      const auto got = set.lock_with(0, home, {});
      ASSERT_OK(got.status());
      EXPECT_EQ(*got, left);
      EXPECT_CODE(Code::invalid_argument, set.unlock_with(0, home, Bytes(kMostLockPayload + 1)));
      EXPECT_OK(set.unlock_with(0, home, {}));
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(set));
  }
}

}  // namespace grapnel::test
