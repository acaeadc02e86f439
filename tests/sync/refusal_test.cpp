// Letters, notifications and signals that make no sense: a server refuses each and touches nothing.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/codec.hpp"
#include "exchange/messages.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"
#include "rma/messages.hpp"
#include "sync/messages.hpp"
#include "sync/signals.hpp"

namespace grapnel::test {
namespace {

class Faulty {
 public:
  explicit Faulty(Runtime& g) : parts_(g.implementation()) {}

  template <typename Body>
  void send(progress::HandlerId handler, const Body& body, std::size_t payload_bytes) {
    const Bytes payload(payload_bytes, std::byte{0x77});
    progress::OutgoingRequest request;
    request.handler = handler;
    request.body = base::bytes_of(body);
    request.payload = payload;
    bool refused = false;
    bool answered = false;
    struct Seen {
      bool& refused;
      bool& answered;
    } seen{refused, answered};
    request.on_reply = {[](void* context, const progress::Reply& reply) {
                          auto& told = *static_cast<Seen*>(context);
                          told.answered = true;
                          told.refused = reply.code == progress::ReplyCode::refused;
                        },
                        &seen};
    progress::Client::Guard guard(*parts_.client);
    ASSERT_TRUE(parts_.client->send(NodeId{0}, request).ok());
    ASSERT_TRUE(parts_.client->wait_until([&] { return answered; }).ok());
    EXPECT_TRUE(refused) << "handler " << handler;
  }

 private:
  Runtime::Implementation& parts_;
};

}  // namespace

WORLD_TEST_ON(Refusal, SenselessRequestsTouchNothing, (std::vector<Shape>{{3, 2}, {3, 3}})) {
  const auto memory = g.allocate(4096);
  ASSERT_TRUE(memory.ok());
  EXPECT_OK(g.barrier());
  const int me = static_cast<int>(index(g.rank()));
  if (me == g.size() - 1) {
    Faulty faulty(g);
    const exchange::Envelope sound{1, 1, me, 1, 100, 0, 100};
    const auto letter = [&](int to, auto change) {
      exchange::LetterBody body{to, 0, sound};
      change(body.envelope);
      faulty.send(exchange::kLetterHandler, body, 100);
    };
    for (const int to : {-1, me, g.size(), INT32_MAX}) letter(to, [](exchange::Envelope&) {});
    letter(0, [](exchange::Envelope& e) { e.from = 0; });
    letter(0, [](exchange::Envelope& e) { e.bytes = 99; });
    letter(0, [](exchange::Envelope& e) { e.offset = 1; });
    letter(0, [](exchange::Envelope& e) { e.offset = UINT32_MAX - 50; });
    letter(0, [](exchange::Envelope& e) { e.total_bytes = UINT32_MAX; });
    faulty.send(exchange::kLetterHandler, exchange::LetterBody{0, 0, {1, 1, me, 1, 5000, 0, 5000}}, 5000);
    for (const int target : {-1, me, g.size(), INT32_MIN})
      faulty.send(sync::kNotifyHandler, sync::NotifyBody{target}, 0);
    const auto there = reinterpret_cast<std::uint64_t>(memory->on(Rank{0}));
    const std::uint64_t outside = there + (std::uint64_t{1} << 34);
    faulty.send(rma::kPutSignalHandler, rma::PutSignalBody{{there, 8}, {there + 18, 1}}, 8);
    faulty.send(rma::kPutSignalHandler, rma::PutSignalBody{{there, 8}, {outside, 1}}, 8);
    faulty.send(rma::kPutSignalHandler, rma::PutSignalBody{{outside, 8}, {there, 1}}, 8);
    faulty.send(rma::kPutSignalHandler, rma::PutSignalBody{{there, 8}, {there, 1}}, 9);
    const auto grows = g.implementation().core->service<sync::Signals>().handler();
    for (const std::uint64_t word : {outside, there + 2, std::uint64_t{0}, UINT64_MAX, UINT64_MAX - 3}) {
      faulty.send(grows, sync::SignalBody{word, 1}, 0);
    }
    for (const std::uint64_t amount : {std::uint64_t{0}, std::uint64_t{1} << 30, std::uint64_t{1} << 32, UINT64_MAX}) {
      faulty.send(grows, sync::SignalBody{there, amount}, 0);
    }
    faulty.send(grows, sync::SignalBody{there, 1}, 8);
    rma::StridedSignalBody strided;
    strided.target.base = there;
    strided.target.bytes = 8;
    strided.target.shape = Strided::contiguous(8);
    strided.signal = {outside, 1};
    faulty.send(rma::kPutStridedSignalHandler, strided, 8);
    strided.signal = {there, 1};
    strided.target.first = 1;
    faulty.send(rma::kPutStridedSignalHandler, strided, 8);
  }
  EXPECT_OK(g.barrier());
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(static_cast<const char*>(memory->local())[i], 0) << i;
  EXPECT_TRUE(g.allgather(g.world(), {}).ok()) << "exchanges go on";
  EXPECT_OK(g.free(*memory));
}

// The others have been in the barrier for long when it arrives, so that their servers learn only there what they
// refuse.
WORLD_TEST_ON(Refusal, AWriteIsToldByTheBarrierOfItsRank, (std::vector<Shape>{{3, 2}, {3, 3}, {5, 5}})) {
  const auto memory = g.allocate(64);
  ASSERT_TRUE(memory.ok());
  Runtime::Implementation& parts = g.implementation();
  const bool writes = static_cast<int>(index(g.rank())) == g.size() - 1;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    if (writes) {
      os::Word never{0};
      parts.waiting->host().wait(never, 0, 2 * base::kMillisecond_ns);
      const rma::ContiguousBody nowhere{16, sizeof round};
      progress::OutgoingRequest request;
      request.handler = rma::kPutHandler;
      request.body = base::bytes_of(nowhere);
      request.payload = base::bytes_of(round);
      request.write = true;
      {
        progress::Client::Guard guard(*parts.client);
        ASSERT_TRUE(parts.client->send(NodeId{0}, request).ok());
      }
      // A write by message that the runtime knows of, so that the barrier asks its node.
      EXPECT_OK(g.accumulate(ElementType::int64, nullptr, &round, memory->on(Rank{0}), sizeof round, Rank{0}));
    }
    const Status told = g.barrier();
    EXPECT_EQ(told.code(), writes ? Code::refused : Code::ok) << "round " << round;
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
