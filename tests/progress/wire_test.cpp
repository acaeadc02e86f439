// What the wire may say: single messages that no program of this version sends, each with the right secret. They are
// refused and the job continues, or they end the job with a sentence that states whose they are; nothing else happens.
// SPDX-License-Identifier: Apache-2.0
#include "exchange/messages.hpp"
#include "progress/wire_world.hpp"
#include "rma/messages.hpp"
#include "sync/barrier/messages.hpp"
#include "sync/settings.hpp"

namespace grapnel::test {
namespace {

using sync::BarrierBody;
using sync::BarrierStage;

// Of the world's barrier that is next: this is the second.
BarrierBody barrier_body(Runtime& g, BarrierStage stage, std::uint8_t round) {
  BarrierBody body;
  body.group = key_of(g.world());
  body.count = 2;
  body.from = static_cast<std::uint32_t>(index(g.rank()));
  body.stage = stage;
  body.round = round;
  return body;
}

// ---- barriers

TEST(Wire, CountsOfAWrongLengthAreRefused) {
  const auto report = report_of({}, [](Runtime& g) {
    Forger forger(g);
    const Bytes numbers(5 * sizeof(std::uint64_t));
    if (forger.me() == 2) {
      ASSERT_TRUE(forger.tell(NodeId{0}, sync::kBarrierHandler,
                              base::bytes_of(barrier_body(g, BarrierStage::counts, 0)), numbers));
    }
    forger.pass(base::kMillisecond_ns);
    if (forger.me() == 0) {
      EXPECT_EQ(refused_at(g), 1U);
    }
    for (int i = 0; i < 5; ++i) EXPECT_OK(g.barrier());
  });
  EXPECT_EQ(report, "");
}

TEST(Wire, CountsOfAnotherPlansLengthEndTheJob) {
  const auto report = report_of({}, [](Runtime& g) {
    Forger forger(g);
    const Bytes numbers(3 * sizeof(std::uint64_t));  // what a gather would send up to its root
    if (forger.me() == 1) {
      ASSERT_TRUE(forger.tell(NodeId{0}, sync::kBarrierHandler,
                              base::bytes_of(barrier_body(g, BarrierStage::counts, 0)), numbers));
      forger.pass(base::kMillisecond_ns);
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.barrier());
  });
  expect_sentence(report, "the server of node 1 sent");
}

TEST(Wire, AMessageOfABarrierTwiceEndsTheJob) {
  const auto report = report_of({.barrier = sync::BarrierKind::few}, [](Runtime& g) {
    Forger forger(g);
    if (forger.me() == 1) {
      const auto body = barrier_body(g, BarrierStage::first, 0);
      ASSERT_TRUE(forger.tell(NodeId{0}, sync::kBarrierHandler, base::bytes_of(body)));
      ASSERT_TRUE(forger.tell(NodeId{0}, sync::kBarrierHandler, base::bytes_of(body)));
    }
    for (int i = 0; i < 3; ++i) EXPECT_OK(g.barrier());
  });
  expect_sentence(report, "the server of node 1 sent a message");
}

TEST(Wire, AGroupThatIsUnderWayDoesNotEnd) {
  const auto report = report_of({.ranks = 4, .nodes = 2}, [](Runtime& g) {
    Forger forger(g);
    for (std::uint32_t ends = 0; ends < 2; ++ends) {
      for (std::uint32_t entry = 0; entry < 3; ++entry) {
        if (forger.me() != 1) break;
        const sync::BarrierGroupBody body{key_of(g.world()), entry, ends};
        bool answered = false;
        forger.ask(NodeId{0}, sync::kBarrierGroupHandler, base::bytes_of(body), Bytes{std::byte{0xf}}, &answered);
        forger.await(answered);
      }
    }
    if (forger.me() == 3) forger.pass(base::kMillisecond_ns);
    EXPECT_OK(g.barrier());
    if (forger.me() == 0) {
      EXPECT_EQ(refused_at(g), 6U);
    }
    EXPECT_OK(g.barrier());
  });
  EXPECT_EQ(report, "");
}

// 9,000 are more than one server's share.
void send_unknown_groups(Forger& forger) {
  BarrierBody body;
  body.from = 2;
  for (std::uint64_t i = 1; i <= 9000; ++i) {
    body.group = i << 32;
    body.count = 1;
    ASSERT_TRUE(forger.tell(NodeId{0}, sync::kBarrierHandler, base::bytes_of(body)));
  }
}

TEST(Wire, UnknownGroupsTakeOneServersShare) {
  const auto report = report_of({.ranks = 4, .nodes = 4}, [](Runtime& g) {
    Forger forger(g);
    if (forger.me() == 2) send_unknown_groups(forger);
    EXPECT_OK(g.barrier());
    if (forger.me() != 2) {
      const auto others = g.make_group(std::vector{Rank{0}, Rank{1}, Rank{3}});
      ASSERT_TRUE(others.ok());
      for (int i = 0; i < 5; ++i) EXPECT_OK(g.barrier(*others));
    }
    if (forger.me() == 0) {
      EXPECT_GE(refused_at(g), 9000U - 8192U);
    }
    EXPECT_OK(g.barrier());
  });
  EXPECT_EQ(report, "");
}

TEST(Wire, AGroupWhoseMessagesMayBeRefusedEndsTheJob) {
  const auto report = report_of({}, [](Runtime& g) {
    Forger forger(g);
    if (forger.me() == 2) send_unknown_groups(forger);
    EXPECT_OK(g.barrier());
    const auto pair = g.make_group(std::vector{Rank{0}, Rank{2}});
    if (pair.ok()) EXPECT_OK(g.barrier(*pair));
  });
  expect_sentence(report, "the server of node 2 sent messages for barriers of more than 4096 groups");
}

// ---- the sender

TEST(Wire, AConnectionIsOneOrigins) {
  const auto report = report_of({}, [](Runtime& g) {
    Forger forger(g);
    if (forger.me() == 2) {
      bool answered = false;
      forger.ask(NodeId{0}, progress::kCountsHandler, {}, {}, &answered);
      forger.await(answered);                     // now it is rank 2's
      for (const int origin : {0, 1, 3, 4, 5}) {  // ranks, servers
        auto front = forger.front(progress::kBellHandler, 0, 0);
        front.origin = origin;
        forger.send_raw(NodeId{0}, front, {});
      }
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.barrier());
    if (forger.me() == 0) {
      EXPECT_EQ(g.implementation().server->statistics().foreign, 5U);
    }
  });
  EXPECT_EQ(report, "");
}

class Deaf final : public transport::MessageSink {
  void on_message(const transport::Message&) override {}
  void on_bulk(const transport::BulkMessage&) override {}
  void on_endpoint_failure(transport::EndpointId, const Status&) override {}
};

TEST(Wire, ASecondConnectionOfARankIsDropped) {
  const auto report = report_of({}, [](Runtime& g) {
    Forger forger(g);
    Deaf deaf;
    std::unique_ptr<transport::Worker> worker;
    if (forger.me() == 2) {
      auto made = forger.parts().transport->create_worker(deaf);
      ASSERT_TRUE(made.ok());
      worker = std::move(*made);
    }
    const auto addresses =
        g.allgather(g.world(), g.rank() == Rank{0} ? forger.parts().server->description().encode() : Bytes());
    ASSERT_TRUE(addresses.ok());
    if (forger.me() == 2) {
      const auto server = progress::ServerDescription::decode((*addresses)[0]);
      ASSERT_TRUE(server.ok());
      const auto endpoint = worker->connect(server->worker_address);
      ASSERT_TRUE(endpoint.ok());
      const auto front = forger.front(progress::kBellHandler, 0, 0);
      ASSERT_TRUE(worker->send(*endpoint, base::bytes_of(front), {}, {}).ok());
      worker->progress();
    }
    forger.pass(base::kMillisecond_ns);
    EXPECT_OK(g.barrier());
    if (forger.me() == 0) {
      EXPECT_EQ(g.implementation().server->statistics().foreign, 1U);
    }
    EXPECT_OK(g.barrier());
  });
  EXPECT_EQ(report, "");
}

// ---- memory

rma::StridedBody strided_get(void* from) {
  rma::StridedBody body;
  body.base = reinterpret_cast<std::uint64_t>(from);
  body.bytes = 128 * 1024;
  body.shape.levels = 1;
  body.shape.count[0] = 64 * 1024;
  body.shape.count[1] = 2;
  body.shape.stride[0] = 64 * 1024;
  return body;
}

TEST(Wire, AnAnswerThatTheChargeDoesNotCoverIsRefused) {
  const auto report = report_of({.ranks = 2, .nodes = 2}, [](Runtime& g) {
    const auto memory = g.allocate(256 * 1024);
    ASSERT_TRUE(memory.ok());
    Forger forger(g);
    const rma::ContiguousBody plain{reinterpret_cast<std::uint64_t>(memory->on(Rank{0})), 128 * 1024};
    const auto strided = strided_get(memory->on(Rank{0}));
    for (int i = 0; i < 50 && forger.me() == 1; ++i) {
      bool one = false, other = false;
      forger.ask(NodeId{0}, rma::kGetHandler, base::bytes_of(plain), {}, &one);
      forger.ask(NodeId{0}, rma::kGetStridedHandler, base::bytes_of(strided), {}, &other);
      forger.await(one);
      forger.await(other);
    }
    EXPECT_OK(g.barrier());
    if (forger.me() == 0) {
      EXPECT_EQ(refused_at(g), 100U);
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.free(*memory));
  });
  EXPECT_EQ(report, "");
}

// It reads no answer. All but a window of them must not be made; that it has sent more than it counted ends the job
// when it reads again.
TEST(Wire, AnswersThatNobodyReadsTakeAWindow) {
  std::size_t grown = 0;
  const auto report = report_of({.ranks = 2, .nodes = 2, .in_flight_bytes = 4 * base::kMiB}, [&](Runtime& g) {
    const auto memory = g.allocate(256 * 1024);
    ASSERT_TRUE(memory.ok());
    EXPECT_OK(g.barrier());
    Forger forger(g);
    if (forger.me() == 1) {
      const auto body = strided_get(memory->on(Rank{0}));
      auto front = forger.front(rma::kGetStridedHandler, sizeof body, 0);
      front.charge = progress::charge_of(body.bytes);
      front.token = 1;
      const std::size_t before = resident_bytes();
      for (int i = 0; i < 20'000; ++i) forger.send_raw(NodeId{0}, front, base::bytes_of(body));
      forger.pass(100 * base::kMillisecond_ns);
      grown = resident_bytes() - before;
    }
    forger.pass(300 * base::kMillisecond_ns);
    if (forger.me() == 0) {
      const auto counts = forger.parts().server->statistics();
      EXPECT_GT(counts.parked, 0U);
      EXPECT_GT(counts.foreign, 10'000U);
      EXPECT_LT(counts.handled, 100U);
    }
    bool answered = false;
    forger.ask(NodeId{forger.me() == 0 ? 1 : 0}, progress::kCountsHandler, {}, {}, &answered);
    forger.await(answered);
    EXPECT_OK(g.barrier());
  });
  EXPECT_LT(grown, 64 * base::kMiB);  // they would be 2.4 GiB
  expect_sentence(report, "the server of node 0 says that it has handled");
}

// ---- letters

TEST(Wire, ALetterInTheWrongPlaceEndsTheJob) {
  const auto report = report_of({}, [](Runtime& g) {
    Forger forger(g);
    exchange::LetterBody body;
    body.envelope.group = 99;
    body.envelope.from = forger.me();
    body.envelope.total_bytes = 64;
    body.envelope.bytes = 8;
    for (int i = 0; i < 2 && forger.me() == 2; ++i) {
      forger.ask(NodeId{0}, exchange::kLetterHandler, base::bytes_of(body), Bytes(8));
    }
    EXPECT_OK(g.barrier());
    EXPECT_TRUE(g.allgather(g.world(), Bytes(8)).ok());
  });
  expect_sentence(report, "rank 2 has sent bytes from 0 of a message of 64 bytes to rank 0");
}

// A promise of a gigabyte takes what came of it.
TEST(Wire, ALetterWithoutABeginningIsDropped) {
  const auto report = report_of({}, [](Runtime& g) {
    Forger forger(g);
    exchange::LetterBody body;
    body.envelope.from = forger.me();
    body.envelope.total_bytes = 1U << 30;
    body.envelope.offset = (1U << 30) - 8;
    body.envelope.bytes = 8;
    for (int i = 0; i < 100 && forger.me() == 2; ++i) {
      body.envelope.group = static_cast<std::uint64_t>(i);
      forger.ask(NodeId{0}, exchange::kLetterHandler, base::bytes_of(body), Bytes(8));
    }
    EXPECT_OK(g.barrier());
    EXPECT_TRUE(g.allgather(g.world(), Bytes(8)).ok());
    EXPECT_OK(g.barrier());
  });
  EXPECT_EQ(report, "");
}

}  // namespace
}  // namespace grapnel::test
