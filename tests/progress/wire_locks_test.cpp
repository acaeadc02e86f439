// What the wire may say of locks: single messages, with the right secret, that no program of this version sends.
#include "locks/messages.hpp"
#include "progress/wire_world.hpp"

namespace grapnel::test {
namespace {

using locks::LockBody;
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
    constexpr Verb kForHome[] = {Verb::free,        Verb::cancel,    Verb::look,
                                 Verb::want_shared, Verb::want_sole, Verb::give_back};
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

// A place in the queue that was never taken: the next in line would wait behind nobody.
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

}  // namespace
}  // namespace grapnel::test
