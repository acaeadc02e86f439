// Malformed, truncated, foreign and out-of-range messages at a server: it refuses them, touches nothing, and lives on.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/codec.hpp"
#include "exchange/messages.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/messages.hpp"
#include "progress/settings.hpp"
#include "rma/internal/runs.hpp"
#include "rma/lent_programs.hpp"
#include "rma/messages.hpp"
#include "sync/barrier/messages.hpp"
#include "sync/messages.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kCanaryBytes = 64 * 1024;

// Sends what it likes to node 0's server.
class Attacker {
 public:
  /// `lent`: as long as the canary, of rank 0.
  Attacker(Runtime& g, void* canary, std::uint64_t lent)
      : parts_(g.implementation()),
        canary_(reinterpret_cast<std::uint64_t>(canary)),
        lent_(lent),
        random_(world_seed() + 99) {}

  // An envelope that is no envelope: dropped before anybody looks inside.
  void send_broken() {
    Bytes header(random_.below(transport::kMaxHeaderBytes + 1));
    Bytes payload(some_length(2000));
    fill(header);
    fill(payload);
    progress::RequestHeader front = sound_front(rma::kPutHandler, sizeof(rma::ContiguousBody), payload.size());
    const rma::ContiguousBody body{canary_, payload.size()};
    switch (random_.below(6)) {
      case 0: break;  // random bytes of random length
      case 1: header.resize(random_.below(sizeof front)); break;
      case 2: front.secret ^= 1 + random_.below(UINT64_MAX); break;
      case 3: front.origin = static_cast<std::int32_t>(random_.chance(0.5) ? -1 : parts_.launch->size()); break;
      case 4: front.payload_bytes += 1 + static_cast<std::uint32_t>(random_.below(100)); break;
      case 5: front.charge = random_.chance(0.5) ? progress::charge_of(payload.size()) - 1 : UINT32_MAX; break;
    }
    if (!header.empty() && random_.chance(0.8)) {
      base::Encoder encoder;
      encoder.put(front).put(body);
      const Bytes sound = encoder.take();
      // What stays a sound envelope would be a put that belongs to no rank's count: those are send_wrong's.
      if (is_sound(front, payload.size())) return send_raw(ByteView(sound).first(sound.size() - 1), payload);
      return send_raw(sound, payload);
    }
    send_raw(header, payload);
  }

  // A sound envelope of ours with a request that must be refused.
  void send_wrong() {
    progress::OutgoingRequest request;
    Bytes body, payload(some_length(3000));
    fill(payload);
    request.handler = static_cast<progress::HandlerId>(random_.below(rma::kCopiesHandler));
    if (request.handler == progress::kCountsHandler) request.handler = 60;  // not registered
    if (random_.chance(0.3)) payload.resize(payload.size() / 8 * 8 + 16);
    body = random_.chance(0.3) ? misplaced_body(request.handler, payload.size()) : Bytes();
    if (body.empty()) body = wrong_body(request.handler, payload.size());
    const bool vector = request.handler == rma::kPutVectorHandler || request.handler == rma::kGetVectorHandler ||
                        request.handler == rma::kAccumulateVectorHandler;
    if (vector && random_.chance(0.8)) wrong_runs(request.handler, body, payload);
    if (is_of_parts(request.handler)) wrong_parts(request.handler, body, payload);
    request.body = body;
    request.payload = payload;
    progress::Client::Guard guard(*parts_.client);
    // A token only where the handler answers: the refusal then arrives as a reply.
    bool answered = false;
    constexpr progress::HandlerId kAnswering[] = {
        rma::kGetHandler,     rma::kGetStridedHandler,  rma::kGetVectorHandler,
        rma::kRmwHandler,     rma::kCompareHandler,     rma::kFetchingUpdateHandler,
        rma::kGetLentHandler, rma::kCompareLentHandler, rma::kFetchingUpdateVectorHandler};
    const bool answers =
        std::find(std::begin(kAnswering), std::end(kAnswering), request.handler) != std::end(kAnswering);
    if (answers) {
      request.on_reply = {[](void* context, const progress::Reply& reply) {
                            *static_cast<bool*>(context) = true;
                            EXPECT_EQ(reply.code, progress::ReplyCode::refused);
                          },
                          &answered};
    }
    ASSERT_TRUE(parts_.client->send(NodeId{0}, request).ok());
    EXPECT_OK(parts_.client->drain(NodeId{0}));
    if (answers) EXPECT_OK(parts_.client->wait_until([&] { return answered; }));
    ++wrong_;
  }

  // Messages between servers, from one that sends anything: a sound envelope, an origin that is node 2's server.
  void send_as_a_server() {
    constexpr progress::HandlerId kTold[] = {
        progress::kServerCountsHandler, sync::kBarrierHandler,  locks::kLockTellHandler,
        exchange::kLetterHandler,       sync::kNotifyHandler,   progress::kBellHandler,
        sync::kBarrierGroupHandler,     locks::kLockAskHandler, locks::kLockSetHandler};
    const progress::HandlerId handler = kTold[random_.below(std::size(kTold))];
    Bytes body(random_.below(progress::kMaxBodyBytes + 1)), payload(random_.below(600));
    fill(body);
    fill(payload);
    if (handler == progress::kServerCountsHandler) body.resize(sizeof(std::uint64_t));
    if (handler == sync::kBarrierHandler && random_.chance(0.8)) body = some_barrier_body();
    progress::RequestHeader front = sound_front(handler, body.size(), payload.size());
    front.origin = parts_.launch->size() + 2;
    base::Encoder encoder;
    encoder.put(front);
    Bytes header = encoder.take();
    header.insert(header.end(), body.begin(), body.end());
    send_raw(header, payload);
  }

  std::uint64_t wrong() const { return wrong_; }

 private:
  // Of a group without members.
  Bytes some_barrier_body() {
    sync::BarrierBody body;
    body.group = random_.next();
    body.count = static_cast<std::uint32_t>(random_.next());
    body.stage = static_cast<sync::BarrierStage>(random_.below(6));
    body.round = static_cast<std::uint8_t>(random_.below(4));
    return bytes_in(body);
  }

  bool is_sound(const progress::RequestHeader& front, std::size_t payload_bytes) const {
    return front.secret == parts_.launch->job_secret() && front.origin >= 0 && front.origin < parts_.launch->size() &&
           front.payload_bytes == payload_bytes && front.charge >= progress::charge_of(payload_bytes) &&
           front.charge <= parts_.config.get<progress::Settings>().window_bytes;
  }

  progress::RequestHeader sound_front(progress::HandlerId handler, std::size_t body_bytes, std::size_t payload_bytes) {
    progress::RequestHeader front;
    front.secret = parts_.launch->job_secret();
    front.handler = handler;
    front.body_bytes = static_cast<std::uint16_t>(body_bytes);
    front.origin = static_cast<std::int32_t>(index(parts_.launch->rank()));
    front.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
    front.charge = static_cast<std::uint32_t>(payload_bytes + progress::kRequestCharge);
    return front;
  }

  // Right in everything but its place, as far as the payload's length allows: only a look at the segments refuses it.
  // Empty for the others.
  Bytes misplaced_body(progress::HandlerId handler, std::size_t payload_bytes) {
    const std::uint64_t outside = canary_ + (std::uint64_t{1} << 34) + 8 * random_.below(1000);
    switch (handler) {
      case rma::kPutHandler:
      case rma::kGetHandler: return bytes_in(rma::ContiguousBody{outside, std::max<std::size_t>(payload_bytes, 1)});
      case rma::kAccumulateHandler:
        return bytes_in(rma::AccumulateBody{{outside, payload_bytes}, {ElementType::int64, {}}});
      case rma::kPutStridedHandler:
      case rma::kGetStridedHandler:
      case rma::kAccumulateStridedHandler: {
        rma::StridedBody body;
        body.base = payload_bytes >= 16 && random_.chance(0.5)
                        ? canary_
                        : outside;  // it begins well, and leaves with its second row
        body.bytes = payload_bytes;
        body.arithmetic = {ElementType::int64, {}};
        body.shape.levels = 1;
        body.shape.count[0] = 8;
        body.shape.count[1] = static_cast<std::int64_t>(payload_bytes / 8);
        body.shape.stride[0] = std::int64_t{1} << 33;
        return bytes_in(body);
      }
      case rma::kRmwHandler: return bytes_in(rma::RmwBody{outside, rma::RmwOperation::fetch_and_add, 8, 1, 1});
      case rma::kUpdateHandler:
      case rma::kFetchingUpdateHandler:
        return bytes_in(rma::UpdateBody{{outside, std::max<std::size_t>(payload_bytes / 8 * 8, 8)},
                                        {Operation::sum, NumberType::int64}});
      case rma::kCompareHandler: return bytes_in(rma::CompareBody{{outside, 8}, 0, 1});
      case rma::kCompareLentHandler:
        return bytes_in(random_.chance(0.5) ? rma::CompareLentBody{{{canary_, 8}, 0x5a5a5a5a5a5a5a5aULL, 1}, 0}
                                            : rma::CompareLentBody{{{lent_, 8}, 0x5a5a5a5a5a5a5a5aULL, 1}, 1});
      default: return {};
    }
  }

  template <typename Body>
  static Bytes bytes_in(const Body& body) {
    const ByteView view = base::bytes_of(body);
    return Bytes(view.begin(), view.end());
  }

  // Out of range by one, by a lot, wrapping around, or of a wrong length.
  Bytes wrong_body(progress::HandlerId handler, std::size_t payload_bytes) {
    const std::uint64_t end = canary_ + kCanaryBytes;
    const std::uint64_t far = random_.chance(0.5) ? random_.next() | (std::uint64_t{1} << 63) : 4096;
    const std::uint64_t address = random_.chance(0.5) ? end - payload_bytes / 2 + (std::uint64_t{1} << 34) : far;
    base::Encoder encoder;
    switch (handler) {
      case rma::kPutHandler:
      case rma::kGetHandler: encoder.put(rma::ContiguousBody{address, payload_bytes + 1}); break;
      case rma::kAccumulateHandler:
        encoder.put(rma::AccumulateBody{{address, payload_bytes}, {static_cast<ElementType>(random_.below(256)), {}}});
        break;
      case rma::kPutStridedHandler:
      case rma::kGetStridedHandler:
      case rma::kAccumulateStridedHandler: {
        rma::StridedBody body;
        body.base = canary_;
        body.bytes = payload_bytes + 1;
        body.shape.levels = static_cast<int>(random_.next());
        for (auto& count : body.shape.count) count = static_cast<std::int64_t>(random_.next());
        for (auto& stride : body.shape.stride) stride = static_cast<std::int64_t>(random_.next());
        encoder.put(body);
        break;
      }
      case rma::kPutVectorHandler:
      case rma::kGetVectorHandler:
      case rma::kAccumulateVectorHandler:
        encoder.put(rma::VectorBody{random_.chance(0.5) ? random_.next() : far, payload_bytes, {}});
        break;
      case rma::kRmwHandler:
        encoder.put(rma::RmwBody{address | 1, static_cast<rma::RmwOperation>(random_.below(10)),
                                 static_cast<std::uint32_t>(random_.below(17)), 1, 1});
        break;
      case rma::kUpdateHandler:
      case rma::kFetchingUpdateHandler:
        encoder.put(rma::UpdateBody{
            {canary_, 16 * random_.below(3000) + 8},
            {static_cast<Operation>(random_.between(kOperations, 255)), static_cast<NumberType>(random_.below(256))}});
        break;
      case rma::kCompareHandler:
        encoder.put(rma::CompareBody{{canary_, random_.between(9, 100)}, random_.next(), random_.next()});
        break;
      case rma::kCompareLentHandler: {
        constexpr std::int64_t kOwners[] = {-1, 1, 3, INT64_MAX, INT64_MIN};
        encoder.put(rma::CompareLentBody{{{lent_, 8}, 0, 1}, kOwners[random_.below(std::size(kOwners))]});
        break;
      }
      default: break;
    }
    Bytes body = encoder.take();
    if (random_.chance(0.2) && !body.empty()) body.pop_back();
    return body;
  }

  // Sound runs in the canary, and then one fault. The data, where there is any, is before them.
  void wrong_runs(progress::HandlerId handler, Bytes& body, Bytes& payload) {
    const std::size_t bytes = 8 * random_.between(1, 40);
    rma::VectorBody vector{canary_, bytes, {ElementType::int64, {}}};
    rma::RunWriter writer;
    writer.start(vector.base);
    for (std::size_t at = 0; at < bytes; at += 8) writer.add({canary_ + random_.below(kCanaryBytes / 8) * 8, 8});
    Bytes runs(writer.view().begin(), writer.view().end());
    switch (random_.below(8)) {
      case 0: runs.resize(random_.below(runs.size())); break;                              // cut off
      case 1: runs.push_back(std::byte{1}); break;                                         // one run too many
      case 2: runs.back() = std::byte{0}; break;                                           // a varint without an end
      case 3: runs[0] = std::byte{2}, runs.insert(runs.begin() + 1, std::byte{0}); break;  // longer than needed
      case 4: vector.bytes += random_.chance(0.5) ? 8 : random_.next(); break;             // the sum disagrees
      case 5: vector.bytes = random_.chance(0.5) ? 0 : bytes - 8; break;
      case 6:
        vector.base += random_.chance(0.5) ? std::uint64_t{1} << 40 : random_.next() | std::uint64_t{1} << 62;
        break;
      default: {  // the last run outside every segment, or not of whole elements: nothing of the others is done
        const bool torn = handler == rma::kAccumulateVectorHandler && random_.chance(0.5);
        writer.add(torn ? rma::VectorRun{canary_, 4} : rma::VectorRun{canary_ + (std::uint64_t{1} << 34), 8});
        runs.assign(writer.view().begin(), writer.view().end());
        vector.bytes += torn ? 4 : 8;
      }
    }
    const bool has_data = handler != rma::kGetVectorHandler && vector.bytes <= 2 * bytes;
    payload = Bytes(has_data ? vector.bytes : 0, std::byte{0xee});
    payload.insert(payload.end(), runs.begin(), runs.end());
    const ByteView view = base::bytes_of(vector);
    body.assign(view.begin(), view.end());
  }

  static bool is_of_parts(progress::HandlerId handler) {
    return handler >= rma::kUpdateVectorHandler && handler <= rma::kGetLentHandler;
  }

  // Sound runs in the canary or in lent memory, and one fault.
  void wrong_parts(progress::HandlerId handler, Bytes& body, Bytes& payload) {
    const bool updates = handler == rma::kUpdateVectorHandler || handler == rma::kFetchingUpdateVectorHandler;
    const bool lent = !updates || random_.chance(0.5);
    const std::uint64_t memory = lent ? lent_ : canary_;
    const std::size_t bytes = 8 * random_.between(1, 40);
    rma::PartsBody parts{memory, bytes, {Operation::bit_xor, NumberType::int64}, lent ? 0 : rma::kInSegments};
    rma::RunWriter writer;
    writer.start(parts.base);
    for (std::size_t at = 0; at < bytes; at += 8) writer.add({memory + random_.below(kCanaryBytes / 8) * 8, 8});
    const auto add = [&](std::uint64_t address, std::uint64_t length) {
      writer.add({address, length});
      parts.bytes += length;
    };
    bool cut = false;
    switch (random_.below(updates ? 8 : 5)) {
      case 0: parts.owner = random_.chance(0.5) ? 1 : static_cast<std::int64_t>(random_.next() | 4); break;
      case 1: add(memory + kCanaryBytes - 4, 8); break;
      case 2: cut = true; break;
      case 3: parts.bytes += random_.chance(0.5) ? 8 : random_.next(); break;
      case 4: add(memory + (std::uint64_t{1} << 34), 8); break;
      case 5: parts.update.operation = static_cast<Operation>(random_.between(kOperations, 255)); break;
      case 6: add(memory, 4); break;                              // no whole element
      default: parts.update.number = NumberType::float64; break;  // which has no such operation
    }
    const bool has_data = handler != rma::kGetLentHandler && parts.bytes <= 2 * bytes;
    payload = Bytes(has_data ? parts.bytes : 0, std::byte{0xee});
    payload.insert(payload.end(), writer.view().begin(), writer.view().end());
    if (cut) payload.pop_back();
    body = bytes_in(parts);
    if (random_.chance(0.1)) body.pop_back();
  }

  // Now and then more than a message takes, so that it is announced and waits.
  std::size_t some_length(std::size_t most) {
    return random_.chance(0.01) ? transport::kMaxPayloadBytes + 1 + random_.below(50'000) : random_.below(most);
  }

  void fill(Bytes& bytes) {
    if (bytes.size() > transport::kMaxPayloadBytes) return bytes.assign(bytes.size(), std::byte{0xee});
    for (std::byte& one : bytes) one = static_cast<std::byte>(random_.next());
  }

  void send_raw(ByteView header, ByteView payload) {
    progress::Client::Guard guard(*parts_.client);
    const auto endpoint = parts_.client->endpoint(NodeId{0});
    ASSERT_TRUE(endpoint.ok());
    ASSERT_TRUE(parts_.client->worker().send(*endpoint, header, payload, {}).ok());  // bulk: it is declined
    EXPECT_OK(parts_.client->drain(NodeId{0}));                                      // the payload is on this stack
  }

  Runtime::Implementation& parts_;
  const std::uint64_t canary_, lent_;
  base::Random random_;
  std::uint64_t wrong_ = 0;
};

// The barrier does not know the attacker's messages and may overtake the last of them.
void await_refusals(os::Host& host, const progress::Server& server, std::uint64_t each) {
  os::Word never{0};
  const std::uint64_t end_ns = host.now_ns() + 10 * base::kSecond_ns;
  while (host.now_ns() < end_ns) {
    const auto counts = server.statistics();
    if (counts.foreign >= each && counts.refused >= each) return;
    host.wait(never, 0, base::kMillisecond_ns);
  }
}

}  // namespace

WORLD_TEST_ON(Hostile, MessagesAreRefusedAndTouchNothing, (std::vector<Shape>{{3, 3}})) {
  const auto canary = g.allocate(kCanaryBytes);
  const auto words = g.allocate(64);
  ASSERT_TRUE(canary.ok() && words.ok());
  std::memset(canary->local(), 0x5a, kCanaryBytes);
  const Bytes lent(kCanaryBytes, std::byte{0x5a});
  ASSERT_OK(lent_of(g).lend(lent.data(), kCanaryBytes));
  const auto lent_at = reinterpret_cast<std::uint64_t>(addresses_of_all(g, const_cast<std::byte*>(lent.data()))[0]);
  EXPECT_OK(g.barrier());
  Runtime::Implementation& parts = g.implementation();
  const bool real = parts.transport->capabilities().name.find("ucx") != std::string::npos;
  const int rounds = real ? 50'000 : 2'000;
  constexpr std::int64_t kOwnTraffic = 300;
  if (index(g.rank()) == 2) {
    Attacker attacker(g, canary->on(Rank{0}), lent_at);
    for (int i = 0; i < rounds; ++i) {
      attacker.send_broken();
      attacker.send_wrong();
    }
    EXPECT_CODE(Code::refused, [&] {
      const double one = 1;  // a write of its own, so that the fence asks
      EXPECT_OK(g.put(&one, static_cast<char*>(words->on(Rank{0})) + 8, 8, Rank{0}));
      return g.fence(Rank{0});
    }());
    EXPECT_EQ(attacker.wrong(), static_cast<std::uint64_t>(rounds));
  } else if (index(g.rank()) == 1) {
    for (std::int64_t i = 0; i < kOwnTraffic; ++i) {  // in the meantime the job's own traffic stays right
      const auto ticket = g.fetch_and_add(words->on(Rank{0}), 1, Width::bits64, Rank{0});
      ASSERT_TRUE(ticket.ok()) << ticket.status().to_string();
      EXPECT_EQ(*ticket, i);
    }
  }
  EXPECT_OK(g.barrier());
  if (index(g.rank()) == 0) {
    const auto* bytes = static_cast<const unsigned char*>(canary->local());
    await_refusals(*parts.host, *parts.server, static_cast<std::uint64_t>(rounds));
    for (std::size_t i = 0; i < kCanaryBytes; ++i) ASSERT_EQ(bytes[i], 0x5a) << "byte " << i << " was touched";
    EXPECT_EQ(lent, Bytes(kCanaryBytes, std::byte{0x5a}));
    EXPECT_EQ(parts.server->statistics().foreign, static_cast<std::uint64_t>(rounds));
    EXPECT_EQ(parts.server->statistics().refused, static_cast<std::uint64_t>(rounds));
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(lent_of(g).take_back(lent.data(), kCanaryBytes));
  EXPECT_OK(g.free(*words));
  EXPECT_OK(g.free(*canary));
}

// What has the secret and a server's name, and makes no sense: no rank crashes, and barriers, locks and exchanges go
// on.
WORLD_TEST_ON(Hostile, AServerThatSaysAnythingStopsNobody, (std::vector<Shape>{{3, 3}})) {
  EXPECT_OK(g.create_locks(2));
  EXPECT_OK(g.barrier());
  Attacker attacker(g, nullptr, 0);
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 25 && index(g.rank()) == 2; ++i) attacker.send_as_a_server();
    EXPECT_OK(g.lock(1, Rank{0}));
    EXPECT_OK(g.unlock(1, Rank{0}));
    EXPECT_OK(g.barrier());
  }
  const auto all = g.allgather(g.world(), base::bytes_of(g.rank()));
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 3U);
  EXPECT_OK(g.destroy_locks());
}

}  // namespace grapnel::test
