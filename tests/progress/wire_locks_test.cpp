// What the wire may say of locks: single messages, with the right secret, that no program of this version sends.
// SPDX-License-Identifier: Apache-2.0
#include "base/random.hpp"
#include "locks/messages.hpp"
#include "progress/wire_world.hpp"

namespace grapnel::test {
namespace {

using locks::LockBody;
using locks::LockSetBody;
using locks::Verb;

LockBody lock_body(Verb verb, int home, std::uint64_t me) {
  LockBody body;
  body.verb = verb;
  body.set = 1;
  body.home = home;
  body.me = me;
  return body;
}

// Whose messages were refused is told so.
void expect_over(const Status& barrier) {
  EXPECT_TRUE(barrier.ok() || barrier.code() == Code::refused) << barrier.to_string();
}

void use_locks(Runtime& g, LockSet& locks) {
  for (int i = 0; i < 5; ++i) {
    for (int home = 0; home < g.size(); ++home) {
      EXPECT_OK(locks.lock(0, Rank{home}));
      EXPECT_OK(locks.unlock(0, Rank{home}));
    }
  }
}

class WireLock : public ::testing::TestWithParam<LockKind> {};

TEST_P(WireLock, WhatIsForTheHomeIsRefusedElsewhere) {
  const auto report = report_of({}, [](Runtime& g) {
    auto locks = g.create_lock_set(1, {.kind = GetParam()});
    ASSERT_TRUE(locks.ok());
    EXPECT_OK(g.barrier());
    Forger forger(g);
    constexpr Verb kForHome[] = {Verb::free,      Verb::cancel,    Verb::look,        Verb::want_shared,
                                 Verb::want_sole, Verb::give_back, Verb::reader_left, Verb::stop_awaiting};
    for (const Verb verb : kForHome) {
      if (forger.me() == 2) forger.ask(NodeId{1}, locks::kLockTellHandler, base::bytes_of(lock_body(verb, 0, 2)), {});
    }
    expect_over(g.barrier());
    use_locks(g, *locks);
    expect_over(g.barrier());
    if (forger.me() == 1) {
      EXPECT_EQ(refused_at(g), std::size(kForHome));
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(*locks));
  });
  EXPECT_EQ(report, "");
}

// The word of the holder would be another's, and the lock would never be free again.
TEST_P(WireLock, AFreeOfWhoDoesNotHoldItEndsTheJobOrIsNothing) {
  const auto report = report_of({}, [](Runtime& g) {
    auto locks = g.create_lock_set(1, {.kind = GetParam()});
    ASSERT_TRUE(locks.ok());
    if (g.rank() == Rank{1}) EXPECT_OK(locks->lock(0, Rank{0}));
    EXPECT_OK(g.barrier());
    Forger forger(g);
    if (forger.me() == 2)
      forger.ask(NodeId{0}, locks::kLockTellHandler, base::bytes_of(lock_body(Verb::free, 0, 2)), {});
    forger.pass(base::kMillisecond_ns);
    if (g.rank() == Rank{1}) EXPECT_OK(locks->unlock(0, Rank{0}));
    use_locks(g, *locks);
    expect_over(g.barrier());
    EXPECT_OK(g.destroy_lock_set(*locks));
  });
  switch (GetParam()) {
    case LockKind::server_queue:
    case LockKind::ticket:
    case LockKind::armci_hybrid:
    case LockKind::test_and_set: return expect_sentence(report, "rank 2 frees it and does not hold it");
    default: EXPECT_EQ(report, "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, WireLock,
                         ::testing::Values(LockKind::server_queue, LockKind::ticket, LockKind::armci_hybrid,
                                           LockKind::test_and_set, LockKind::mcs, LockKind::mcs_by_cas,
                                           LockKind::cohort, LockKind::reader_writer),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

// A place in the queue that was never taken: the next in line would wait behind no rank.
std::string report_of_forged_place(std::uint32_t turn) {
  return report_of({}, [turn](Runtime& g) {
    auto locks = g.create_lock_set(1, {.kind = LockKind::cohort});
    ASSERT_TRUE(locks.ok());
    EXPECT_OK(g.barrier());
    Forger forger(g);
    if (forger.me() == 2) {
      EXPECT_OK(locks->lock(0, Rank{0}));
      EXPECT_OK(locks->unlock(0, Rank{0}));
      bool answered = false;
      const auto body = lock_body(Verb::enqueue, 0, std::uint64_t{3} << 32 | turn);
      forger.ask(NodeId{0}, locks::kLockAskHandler, base::bytes_of(body), {}, &answered);
      forger.await(answered);
    }
    EXPECT_OK(g.barrier());
    if (forger.me() == 1) EXPECT_OK(locks->lock(0, Rank{0}));
    EXPECT_OK(g.barrier());
  });
}

TEST(Wire, AForgedPlaceOfACohortEndsTheJob) {
  for (const std::uint32_t turn : {2U, 7U, 0xffff'ffffU}) {
    expect_sentence(report_of_forged_place(turn), "lock 0 of rank 0 (cohort): the server of node 0 puts turn 1 of");
  }
}

TEST(Wire, AForgedGrantOfACohortEndsTheJob) {
  const auto report = report_of({}, [](Runtime& g) {
    auto locks = g.create_lock_set(1, {.kind = LockKind::cohort});
    ASSERT_TRUE(locks.ok());
    EXPECT_OK(g.barrier());
    Forger forger(g);
    if (forger.me() == 2) {
      auto body = lock_body(Verb::grant, 0, std::uint64_t{2} << 32 | 1);
      body.other = std::uint64_t{3} << 32 | 1;
      ASSERT_TRUE(forger.tell(NodeId{1}, locks::kLockTellHandler, base::bytes_of(body)));
    }
    forger.pass(base::kMillisecond_ns);
    EXPECT_OK(g.barrier());
  });
  expect_sentence(report, "lock 0 of rank 0 (cohort): the server of node 2 grants it to turn 1 of node 1");
}

TEST(Wire, ANodeAsksForAReaderWriterOnce) {
  for (const Verb verb : {Verb::want_shared, Verb::want_sole}) {
    const auto report = report_of({}, [verb](Runtime& g) {
      auto locks = g.create_lock_set(1, {.kind = LockKind::reader_writer});
      ASSERT_TRUE(locks.ok());
      if (g.rank() == Rank{1}) EXPECT_OK(locks->lock(0, Rank{0}));
      EXPECT_OK(g.barrier());
      Forger forger(g);
      for (int i = 0; i < 1000 && forger.me() == 2; ++i) {
        forger.ask(NodeId{0}, locks::kLockTellHandler, base::bytes_of(lock_body(verb, 0, 2)), {});
      }
      EXPECT_OK(g.barrier());
    });
    expect_sentence(report, "lock 0 of rank 0 (reader_writer): rank 2 asks for its node a second time");
  }
}

// Random verbs for random nodes, by rank 2 and by its server, until one of them ends the job: what the home keeps for
// them must not grow with them.
void send_at_random(Forger& forger, base::Random& random, std::size_t& grown) {
  const std::size_t before = resident_bytes();
  for (int i = 0; i < 60'000; ++i) {
    auto body =
        lock_body(static_cast<Verb>(random.below(static_cast<std::uint64_t>(Verb::died) + 1)), 0, random.below(3));
    body.flag = static_cast<std::uint16_t>(random.below(2));
    body.value = random.below(4);
    if (random.chance(0.5)) {
      forger.ask(NodeId{0}, locks::kLockTellHandler, base::bytes_of(body), {});
    } else {
      forger.tell(NodeId{0}, locks::kLockTellHandler, base::bytes_of(body));
    }
    if (i % 100 == 0) grown = std::max(grown, resident_bytes() - std::min(before, resident_bytes()));
  }
}

TEST(Wire, RandomMessagesForAReaderWriterEndTheJobAndTakeNoMemory) {
  std::size_t grown = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto report = report_of({.seed = seed}, [&](Runtime& g) {
      auto locks = g.create_lock_set(1, {.kind = LockKind::reader_writer});
      ASSERT_TRUE(locks.ok());
      if (g.rank() == Rank{1}) EXPECT_OK(locks->lock(0, Rank{0}));
      EXPECT_OK(g.barrier());
      Forger forger(g);
      base::Random random(seed);
      if (forger.me() == 2) send_at_random(forger, random, grown);
      expect_over(g.barrier());
    });
    expect_sentence(report, "lock 0 of rank 0 (reader_writer): ");
  }
  EXPECT_LT(grown, 16 * base::kMiB);
}

TEST(Wire, AReaderWriterNobodyAskedForEndsTheJob) {
  const auto report = report_of({}, [](Runtime& g) {
    auto locks = g.create_lock_set(1, {.kind = LockKind::reader_writer});
    ASSERT_TRUE(locks.ok());
    EXPECT_OK(g.barrier());
    Forger forger(g);
    if (forger.me() == 0) {
      ASSERT_TRUE(forger.tell(NodeId{1}, locks::kLockTellHandler, base::bytes_of(lock_body(Verb::grant, 0, 1))));
    }
    forger.pass(base::kMillisecond_ns);
    EXPECT_OK(g.barrier());
  });
  expect_sentence(report, "the server of node 0 grants it to this node, which has not asked for it");
}

// What a home that counts readers is asked: each rank once, and one rank at a time.
TEST(Wire, OneWriterWaitsForTheReadersOfALock) {
  const auto report = report_of({}, [](Runtime& g) {
    auto locks = g.create_lock_set(1, {.kind = LockKind::ticket, .shared_mode = true});
    ASSERT_TRUE(locks.ok());
    if (g.rank() == Rank{0}) EXPECT_OK(locks->lock_shared(0, Rank{0}));
    EXPECT_OK(g.barrier());
    Forger forger(g);
    auto body = lock_body(Verb::await_readers, 0, 0);
    body.value = 1;
    bool answered[2] = {};
    if (forger.me() == 2) {
      for (bool& one : answered) forger.ask(NodeId{0}, locks::kLockAskHandler, base::bytes_of(body), {}, &one);
      forger.await(answered[1]);  // refused
      EXPECT_FALSE(answered[0]);
      auto wrong = body;
      wrong.value = std::uint64_t{1} << 32;
      forger.ask(NodeId{0}, locks::kLockAskHandler, base::bytes_of(wrong), {}, &(answered[1] = false));
      forger.await(answered[1]);
      // Neither of this node, nor counted at home.
      forger.ask(NodeId{0}, locks::kLockTellHandler, base::bytes_of(lock_body(Verb::reader_left, 0, 0)), {});
    }
    expect_over(g.barrier());
    if (forger.me() == 0) {
      EXPECT_EQ(refused_at(g), 3U);
    }
    EXPECT_OK(g.barrier());
    if (forger.me() == 1) forger.ask(NodeId{0}, locks::kLockAskHandler, base::bytes_of(body), {}, &answered[0]);
    forger.pass(base::kMillisecond_ns);
    EXPECT_OK(g.barrier());
  });
  expect_sentence(report, "lock 0 of rank 0 (ticket): rank 1 waits for its readers while rank 2 does");
}

// A reader that leaves twice lets a writer in early; no rank waits for ever.
TEST(Wire, AReaderThatLeavesTwiceKeepsNoWriterOut) {
  const auto report = report_of({}, [](Runtime& g) {
    auto locks = g.create_lock_set(1, {.kind = LockKind::mcs, .shared_mode = true});
    ASSERT_TRUE(locks.ok());
    EXPECT_OK(locks->lock_shared(0, Rank{0}));
    EXPECT_OK(locks->unlock_shared(0, Rank{0}));
    Forger forger(g);
    auto body = lock_body(Verb::reader_left, 0, 0);
    body.flag = 1;
    if (forger.me() == 2) forger.ask(NodeId{0}, locks::kLockTellHandler, base::bytes_of(body), {});
    EXPECT_OK(g.barrier());
    use_locks(g, *locks);
    EXPECT_OK(locks->lock_shared(0, Rank{0}));
    EXPECT_OK(locks->unlock_shared(0, Rank{0}));
    use_locks(g, *locks);
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(*locks));
  });
  EXPECT_EQ(report, "");
}

// Ranks 1 and 3 are what the messages name; rank 0 leads node 0 and is no member.
std::vector<LockSetBody> wrong_sets(const void* block) {
  LockSetBody right;
  right.set = std::uint64_t{1} << 32 | 7;
  right.block = reinterpret_cast<std::uintptr_t>(block);
  right.kind = static_cast<std::uint32_t>(LockKind::cohort);
  right.count = 1;
  std::vector<LockSetBody> wrong(11, right);
  wrong[0].set = 7;  // of a group whose first member is rank 0
  wrong[1].block = 0;
  wrong[2].block += 8;
  wrong[3].block = reinterpret_cast<std::uintptr_t>(&right);
  wrong[4].count = 1 << 30;  // more than the memory
  wrong[5].count = 0;
  wrong[6].kind = 99;
  wrong[7].lines = UINT64_MAX;
  wrong[8].payload_bytes = UINT64_MAX;
  wrong[9].shared_mode = 2;
  wrong[10].ends = 1;  // of no set
  return wrong;
}

TEST(Wire, ASetOfLocksIsRefusedUnlessItsMemoryIsThere) {
  const auto report = report_of({.ranks = 4, .nodes = 2}, [](Runtime& g) {
    const auto memory = g.allocate(4096);
    ASSERT_TRUE(memory.ok());
    Forger forger(g);
    const std::vector<LockSetBody> wrong = wrong_sets(memory->on(Rank{1}));
    if (forger.me() == 1) {
      bool answered = false;
      const auto ask = [&](const LockSetBody& body, int members) {
        answered = false;
        forger.ask(NodeId{0}, locks::kLockSetHandler, base::bytes_of(body), Bytes{static_cast<std::byte>(members)},
                   &answered);
        forger.await(answered);
      };
      for (const LockSetBody& body : wrong) ask(body, 0b1010);
      LockSetBody right = wrong.back();
      right.ends = 0;
      for (const int members : {0b1011, 0b1000, 0b11010, 0}) ask(right, members);
    }
    expect_over(g.barrier());
    if (forger.me() == 0) {
      EXPECT_EQ(refused_at(g), wrong.size() + 4);
    }
    // As if nothing had been said.
    if (forger.me() % 2 == 1) {
      auto locks = g.create_lock_set(*g.make_group(std::vector{Rank{1}, Rank{3}}), 1);
      ASSERT_TRUE(locks.ok()) << locks.status().to_string();
      for (int i = 0; i < 5; ++i) {
        EXPECT_OK(locks->lock(0, Rank{1}));
        EXPECT_OK(locks->unlock(0, Rank{1}));
      }
      EXPECT_OK(g.destroy_lock_set(*locks));
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.free(*memory));
  });
  EXPECT_EQ(report, "");
}

}  // namespace
}  // namespace grapnel::test
