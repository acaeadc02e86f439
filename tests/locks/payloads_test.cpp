// The opaque bytes that travel with enqueue, grant and release.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

Result<LockSet> with_payloads(Runtime& g, LockKind kind) {
  LockOptions options;
  options.kind = kind;
  options.payload_bytes = kMostLockPayload;
  return g.create_lock_set(1, options);
}

// For the holder: what the next one brought, as soon as that is known.
Bytes await_successor(Runtime& g, LockSet& set, Rank home) {
  os::Host& host = *g.implementation().host;
  for (int i = 0; i < 10'000; ++i) {
    const auto payload = set.successor_payload(0, home);
    if (!payload.ok() || !payload->empty()) return payload.ok() ? *payload : Bytes();
    sim::pass_time(host, 100 * base::kMicrosecond_ns);
  }
  return {};
}

Bytes bytes(unsigned char value) { return {std::byte{value}}; }

// Of each kind that shows what the next one brings, at home with the holder and with the rank that waits: the first
// rank holds the lock when `body` begins, the last one is to wait for it. Those between hold nothing up.
template <typename Body>
void with_a_holder(Runtime& g, Body body) {
  for (const LockKind kind : {LockKind::mcs, LockKind::mcs_by_cas, LockKind::cohort}) {
    for (const Rank home : {Rank{0}, Rank{g.size() - 1}}) {
      SCOPED_TRACE(to_string(kind));
      auto set = with_payloads(g, kind);
      ASSERT_TRUE(set.ok());
      const bool holds = index(g.rank()) == 0, waits = g.rank() == Rank{g.size() - 1};
      if (holds) EXPECT_OK(set->lock(0, home));
      EXPECT_OK(g.barrier());
      body(*set, home, holds, waits);
      EXPECT_OK(g.barrier());
      EXPECT_OK(g.destroy_lock_set(*set));
    }
  }
}

}  // namespace

WORLD_TEST_ON(LockPayloads, GoFromHolderToHolder, shapes_from(2)) {
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockOptions options;
    options.kind = kind;
    options.payload_bytes = kMostLockPayload;
    auto created = g.create_lock_set(1, options);
    ASSERT_TRUE(created.ok());
    LockSet set = *created;
    const Rank home{0};
    // Each holder appends its rank; the string is sent from hand to hand, and through the free lock.
    for (int round = 0; round < 3; ++round) {
      const std::byte mine{static_cast<unsigned char>(index(g.rank()))};
      auto received = set.lock_with(0, home, ByteView(&mine, 1));
      ASSERT_TRUE(received.ok()) << received.status().to_string();
      received->push_back(mine);
      EXPECT_OK(set.unlock_with(0, home, *received));
    }
    EXPECT_OK(g.barrier());
    auto all = set.lock_with(0, home, {});
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->size(), 3 * static_cast<std::size_t>(g.size()));
    for (int rank = 0; rank < g.size(); ++rank)
      EXPECT_EQ(std::count(all->begin(), all->end(), std::byte(static_cast<unsigned char>(rank))), 3);
    EXPECT_OK(set.unlock_with(0, home, *all));
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(set));
  }
}

// The first and the last rank are of different nodes.
const std::vector<Shape> kTwoNodes{{2, 2}, {3, 2}, {4, 2}};

WORLD_TEST_ON(LockPayloads, TheHolderSeesWhatTheNextOneBrings, kTwoNodes) {
  with_a_holder(g, [&](LockSet& set, Rank home, bool holds, bool waits) {
    if (holds) {
      EXPECT_EQ(await_successor(g, set, home), bytes(7));
      EXPECT_OK(set.unlock_with(0, home, bytes(8)));
    } else if (waits) {
      const auto received = set.lock_with(0, home, bytes(7));
      EXPECT_TRUE(received.ok() && *received == bytes(8));
      EXPECT_OK(set.unlock(0, home));
    }
  });
}

// A place that was given up was taken without a payload; a rank that follows brings its own.
WORLD_TEST_ON(LockPayloads, NobodyInheritsThatOfAPlaceThatWasGivenUp, kTwoNodes) {
  with_a_holder(g, [&](LockSet& set, Rank home, bool holds, bool waits) {
    LockRequest request;
    if (waits) {
      EXPECT_CODE(Code::timed_out, set.lock_for(0, home, base::kMicrosecond_ns));
      auto started = set.start_lock(0, home, bytes(7));
      ASSERT_TRUE(started.ok());
      request = *started;
    }
    EXPECT_OK(g.barrier());
    if (holds) {
      EXPECT_OK(set.unlock(0, home));
      EXPECT_OK(set.lock_for(0, home, 10 * base::kSecond_ns));
    }
    EXPECT_OK(g.barrier());
    if (holds) {
      EXPECT_EQ(await_successor(g, set, home), bytes(7));
      EXPECT_OK(set.unlock_with(0, home, bytes(8)));
    } else if (waits) {
      Bytes received;
      EXPECT_OK(set.wait(request, &received));
      EXPECT_EQ(received, bytes(8));
      EXPECT_OK(set.unlock(0, home));
    }
  });
}

}  // namespace grapnel::test
