// One rank, the leader of the last node, sends what the generator makes: as a client and as its node's server, to every
// handler of every layer, with live groups, locks of each kind and each plan of the barrier; and its node's server
// answers other ranks' requests with anything.
//
// Each world ends in one of two ways: the traffic of the other ranks was right to its end, or the job ended with the
// sentence that names a message of the attacker. No crash, no hang, and memory within ranks × window.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdlib>
#include <iostream>

#include "dsm/settings.hpp"
#include "progress/generator.hpp"
#include "progress/wire_world.hpp"
#include "rma/lent_programs.hpp"
#include "sync/settings.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kGroundBytes = 64 * 1024, kLentBytes = 4096;
constexpr std::uint64_t kPatience_ns = 3 * base::kMillisecond_ns;
constexpr int kRounds = 6, kBurst = 100;

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// What became of the attacker's messages. Of simulated worlds, whose ranks run one at a time.
struct Tally {
  struct Row {
    const char* name = nullptr;
    std::uint64_t by_client = 0, by_server = 0, done = 0, other = 0;
  };
  std::array<Row, progress::kHandlerLimit> rows;
  std::uint64_t sent = 0, right = 0, sentences = 0;
  std::size_t grown_most = 0;
};

struct Party {
  Runtime& g;
  LockSet locks;
  Group pair;  ///< of rank 0 and the attacker
  SharedHeap heap;
  Memory words, ground;
  std::vector<std::byte*> lent;  ///< by rank, kLentBytes each
  int me, attacker;
  std::uint64_t under_lock = 0;  ///< times that this rank held the counted lock

  bool is_attacker() const { return me == attacker; }
  std::byte* word(int rank, int number) const { return static_cast<std::byte*>(words.on(Rank{rank})) + 8 * number; }
};

// The other ranks' traffic: right whatever the attacker sends.
void work_rightly(Party& p, std::uint64_t round) {
  Runtime& g = p.g;
  const int other = (p.me + 1) % p.attacker;  // the attacker leads the last node, which answers anything
  const std::uint64_t mine = pattern(g.rank(), round, 1);
  std::uint64_t back = 0;
  EXPECT_OK(g.put(&mine, p.word(other, 8 + p.me), 8, Rank{other}));
  EXPECT_OK(g.get(p.word(other, 8 + p.me), &back, 8, Rank{other}));
  EXPECT_EQ(back, mine);
  EXPECT_TRUE(g.fetch_and_add(p.word(0, 0), 1, Width::bits64, Rank{0}).ok());
  // An attacker that queues and does not release is a holder like any other: so not without an end.
  const Status held = p.locks.lock_for(0, Rank{0}, kPatience_ns);
  if (held.ok()) {
    EXPECT_OK(g.get(p.word(0, 1), &back, 8, Rank{0}));
    ++back;
    EXPECT_OK(g.put(&back, p.word(0, 1), 8, Rank{0}));
    EXPECT_OK(g.fence(Rank{0}));
    EXPECT_OK(p.locks.unlock(0, Rank{0}));
    ++p.under_lock;
  } else {
    EXPECT_EQ(held.code(), Code::timed_out) << held.to_string();
  }
}

// To memory that the attacker has lent: each kind of message that names such memory.
void visit_lent(Party& p) {
  const Rank to{p.attacker};
  rma::Rma& rma = rma_of(p.g);
  std::byte* const there = p.lent[static_cast<std::size_t>(p.attacker)] + 256 * p.me;
  std::int64_t some[32] = {}, old[32] = {};
  const Strided rows = shape_of(32, 4, 64);
  for (const auto kind : {rma::OperationKind::put, rma::OperationKind::get}) {
    static_cast<void>(rma.transfer(rma::ContiguousTransfer{kind, {}, some, there, sizeof some, to, true}));
    static_cast<void>(rma.transfer(rma::StridedTransfer{kind, {}, some, &rows, there, &rows, to, true}));
  }
  for (std::int64_t* const found : {static_cast<std::int64_t*>(nullptr), old}) {
    auto update = rma::Rma::update_transfer(Operation::sum, NumberType::int64, some, found, there, 4, to);
    ASSERT_OK(update.status());
    update->lent = true;
    static_cast<void>(rma.transfer(*update));
  }
  static_cast<void>(rma.compare(there, 0, 1, sizeof *some, to, true));
}

// What the generator's recordings are made of: correct messages to the attacker's node, whose answers may be anything.
void visit_attacker(Party& p, std::uint64_t round) {
  Runtime& g = p.g;
  const Rank to{p.attacker};
  auto* there = static_cast<std::byte*>(p.ground.on(to)) + 256 * p.me;
  std::int64_t some[32] = {};
  static_cast<void>(g.put(some, there, sizeof some, to));
  static_cast<void>(g.get(there, some, sizeof some, to));
  static_cast<void>(g.fetch_and_add(there, 1, Width::bits64, to));
  static_cast<void>(g.accumulate(ElementType::int64, nullptr, some, there, sizeof some, to));
  static_cast<void>(g.update(Operation::sum, NumberType::int64, some, there, 4, to));
  static_cast<void>(g.fetch_and_update(Operation::replace, NumberType::int64, some, some + 4, there, 4, to));
  static_cast<void>(g.compare_and_update(some, some + 1, some + 2, there, sizeof *some, to));
  const Strided rows{1, {32, 4}, {64}};
  static_cast<void>(g.put(some, rows, there, rows, to));
  static_cast<void>(g.get(there, rows, some, rows, to));
  static_cast<void>(g.accumulate(ElementType::int64, nullptr, some, rows, there, rows, to));
  const std::array pieces{Piece{some, there, 16}, Piece{some + 8, there + 64, 32}};
  static_cast<void>(g.put(pieces, to));
  static_cast<void>(g.get(pieces, to));
  static_cast<void>(g.accumulate(ElementType::int64, nullptr, pieces, to));
  static_cast<void>(g.put_and_signal(some, there, 16, there + 64, 1, to));
  static_cast<void>(g.put_and_signal(some, rows, there, rows, there + 8, 1, to));
  static_cast<void>(g.notify(to));
  visit_lent(p);
  if (p.locks.lock_for(1, to, kPatience_ns).ok()) static_cast<void>(p.locks.unlock(1, to));
  for (const Rank home : {to, Rank{0}}) {  // unavailable in sets without a shared mode
    if (p.locks.lock_shared_for(1, home, kPatience_ns).ok()) static_cast<void>(p.locks.unlock_shared(1, home));
  }
  // Pages of the shared heap, at home with this rank's node or another, and its memory.
  auto* const page = static_cast<int*>(p.heap.base()) + 1024 * (p.me + 3 * (round % 7));
  p.heap.store(page, p.heap.load(page) + 1);
  static_cast<void>(p.heap.lock(p.me));
  static_cast<void>(p.heap.unlock(p.me));
  if (const auto block = p.heap.allocate(5000); block.ok()) static_cast<void>(p.heap.free(*block));
}

// As the server of the attacker's node: a reply that has nothing to do with the request but its token and its counts.
progress::Outcome answer_anything(Generator& generator, progress::Request& request) {
  static constexpr std::byte kPayload[64] = {};  // stays until it has left
  const Made made = generator.make();
  request.answer(made.body, ByteView(kPayload).first(generator.random().below(sizeof kPayload)), {});
  return progress::Outcome::done;
}

void watch_handlers(Runtime& g, Forger& forger, int attacker, NodeId attackers_node, Tally& tally,
                    const std::shared_ptr<Generator>& recorder) {
  auto& table = forger.parts().server->handlers();
  const int attackers_server = g.size() + static_cast<int>(index(attackers_node));
  for (progress::HandlerId id = 0; id < progress::kHandlerLimit; ++id) {
    if (table.find(id) == nullptr) continue;
    auto& handler = const_cast<progress::Handler&>(*table.find(id));  // the table itself is not const
    tally.rows[id].name = handler.name;
    handler.run = [=, &tally, answers = handler.answers, inner = handler.run](progress::Request& request) {
      const int from = static_cast<int>(request.origin);
      if (recorder != nullptr) {
        recorder->record(id, request);
        if (answers && from < attacker && recorder->random().chance(0.03)) return answer_anything(*recorder, request);
      }
      const auto outcome = inner(request);
      if (recorder == nullptr && (from == attacker || from == attackers_server)) {
        ++(outcome == progress::Outcome::done ? tally.rows[id].done : tally.rows[id].other);
      }
      return outcome;
    };
  }
}

Attacker attacker_of(const Party& p, Forger& forger) {
  Attacker attacker{static_cast<std::uint32_t>(p.me),
                    static_cast<std::uint32_t>(index(forger.parts().launch->node())),
                    p.g.size(),
                    kGroundBytes,
                    {}};
  for (int rank = 0; rank < p.g.size(); ++rank) {
    attacker.grounds.push_back(reinterpret_cast<std::uint64_t>(p.ground.on(Rank{rank})));
  }
  return attacker;
}

Generator::Words live_values(Party& p, Forger& forger) {
  Generator::Words live{key_of(p.g.world()), key_of(p.pair), 1, 8, 16, 32, 64 * 1024};
  for (int rank = 0; rank < p.g.size(); ++rank) {
    const auto there = reinterpret_cast<std::uint64_t>(p.ground.on(Rank{rank}));
    for (const std::uint64_t at : {there, there + 8, there + kGroundBytes - 8, there + kGroundBytes})
      live.push_back(at);
    live.push_back(reinterpret_cast<std::uint64_t>(p.lent[static_cast<std::size_t>(rank)]));
    live.push_back(static_cast<std::uint64_t>(rank));
    for (std::uint64_t turn = 1; turn < 4; ++turn) live.push_back((rank + std::uint64_t{1}) << 32 | turn);
  }
  live.push_back(static_cast<std::uint64_t>(forger.me()) << 32 | static_cast<std::uint64_t>(forger.me()));
  return live;
}

void send_one(Forger& forger, Generator& generator, Tally& tally) {
  const Made made = generator.make();
  base::Random& random = generator.random();
  const NodeId to{static_cast<int>(random.below(2))};
  ++tally.sent;
  if (random.chance(0.4)) {
    if (made.payload.size() > 4096) return;
    if (forger.tell(to, made.handler, made.body, made.payload)) ++tally.rows[made.handler].by_server;
    return;
  }
  ++tally.rows[made.handler].by_client;
  if (random.chance(0.05)) {  // an envelope that is not this rank's
    auto front = forger.front(made.handler, made.body.size(), 0);
    switch (random.below(4)) {
      case 0: front.origin = static_cast<std::int32_t>(random.next()); break;
      case 1: front.origin = static_cast<std::int32_t>(random.below(2)); break;
      case 2: front.secret ^= 1; break;
      default: front.charge = 0;
    }
    return forger.send_raw(to, front, made.body);
  }
  static bool answered = false;  // outlives every world
  const bool answers = forger.parts().server->handlers().find(made.handler)->answers;
  forger.ask(to, made.handler, made.body, made.payload, answers == random.chance(0.95) ? &answered : nullptr, 4096);
}

void attack(Party& p, Forger& forger, Generator& generator, Tally& tally) {
  for (int i = 0; i < kBurst; ++i) send_one(forger, generator, tally);
  if (p.locks.lock_for(0, Rank{0}, kPatience_ns).ok()) static_cast<void>(p.locks.unlock(0, Rank{0}));
}

void expect_right(Party& p) {
  const auto held = p.g.allgather(p.g.world(), base::bytes_of(p.under_lock));
  if (p.me != 0 || !held.ok()) return;
  std::uint64_t sum = 0, counted = 0;
  for (int rank = 0; rank < p.g.size(); ++rank) {
    std::uint64_t one = 0;
    if (rank != p.attacker && (*held)[static_cast<std::size_t>(rank)].size() == 8) {
      std::memcpy(&one, (*held)[static_cast<std::size_t>(rank)].data(), 8);
    }
    sum += one;
  }
  std::memcpy(&counted, p.word(0, 1), 8);
  EXPECT_EQ(counted, sum) << "the lock was held by two";
  std::memcpy(&counted, p.word(0, 0), 8);
  EXPECT_EQ(counted, static_cast<std::uint64_t>(kRounds) * static_cast<std::uint64_t>(p.g.size() - 1));
}

void take_part(Runtime& g, const Plan& plan, std::uint64_t seed, LockKind kind, Tally& tally) {
  const int per_node = plan.ranks / plan.nodes, attacker = plan.ranks - per_node;
  auto ground = g.allocate(kGroundBytes);
  auto gap = g.allocate(32 * base::kMiB);
  auto words = g.allocate(4096);
  auto locks = g.create_lock_set(2, {.kind = kind, .shared_mode = seed / 8 % 2 == 0});
  g.implementation().config.change<dsm::Settings>().protocol =
      seed / 2 % 2 == 0 ? dsm::ProtocolChoice::hlrc : dsm::ProtocolChoice::lrc;
  auto heap = g.open_shared_heap({.bytes = base::kMiB, .locks = g.size()});
  for (const Status& made : {ground.status(), gap.status(), words.status(), locks.status(), heap.status()}) {
    ASSERT_OK(made);
  }
  Bytes lent(kLentBytes);
  ASSERT_OK(lent_of(g).lend(lent.data(), lent.size()));
  Party p{
      g,       *locks, {}, *heap, *words, *ground, addresses_of_all(g, lent.data()), static_cast<int>(index(g.rank())),
      attacker};
  const bool in_pair = p.me == 0 || p.is_attacker();
  if (in_pair) {
    const auto pair = g.make_group(std::vector{Rank{0}, Rank{attacker}});
    ASSERT_TRUE(pair.ok());
    p.pair = *pair;
  }
  Forger forger(g);
  std::shared_ptr<Generator> generator;  // the handlers, which it watches, keep it to the server's end
  if (p.is_attacker()) {
    const ByteView spared(static_cast<std::byte*>(words->local()) - base::kMiB, 2 * base::kMiB);
    generator = std::make_shared<Generator>(forger.parts().server->handlers(), seed, attacker_of(p, forger),
                                            live_values(p, forger), spared);
  }
  if (forger.parts().server != nullptr) {
    with_turn(forger, [&] { watch_handlers(g, forger, attacker, NodeId{plan.nodes - 1}, tally, generator); });
  }
  EXPECT_OK(g.barrier());
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    if (p.is_attacker()) {
      if (round > 0) attack(p, forger, *generator, tally);
    } else {
      work_rightly(p, round);
      visit_attacker(p, round);
    }
    if (in_pair) static_cast<void>(g.barrier(p.pair));
    static_cast<void>(g.allgather(g.world(), base::bytes_of(round)));  // so that letters are recorded
    const Status together = g.barrier();
    if (!p.is_attacker()) {
      EXPECT_TRUE(together.ok()) << together.to_string();
    }
  }
  expect_right(p);
  EXPECT_OK(lent_of(g).take_back(lent.data(), lent.size()));
}

void run_one(std::uint64_t seed, Tally& tally) {
  constexpr LockKind kLocks[] = {LockKind::server_queue, LockKind::ticket,       LockKind::armci_hybrid,
                                 LockKind::test_and_set, LockKind::mcs,          LockKind::mcs_by_cas,
                                 LockKind::cohort,       LockKind::reader_writer};
  constexpr sync::BarrierKind kBarriers[] = {sync::BarrierKind::few, sync::BarrierKind::clean,
                                             sync::BarrierKind::exchange, sync::BarrierKind::direct,
                                             sync::BarrierKind::gather};
  const Plan plan{
      .ranks = seed % 3 == 0 ? 6 : 3, .nodes = 3, .barrier = kBarriers[seed % std::size(kBarriers)], .seed = seed};
  const LockKind kind = kLocks[seed % std::size(kLocks)];
  SCOPED_TRACE(fmt::format("seed {}, {}", seed, to_string(kind)));
  const std::size_t before = resident_bytes();
  const auto report = report_of(plan, [&](Runtime& g) { take_part(g, plan, seed, kind, tally); });
  const std::size_t after = resident_bytes();
  tally.grown_most = std::max(tally.grown_most, after > before ? after - before : 0);
  ++(report.empty() ? tally.right : tally.sentences);
  if (report.empty()) return;
  EXPECT_NE(report.find(kSentence), std::string::npos) << report;
  const std::string node = fmt::format("node {}", plan.nodes - 1),
                    rank = fmt::format("rank {}", plan.ranks - plan.ranks / 3);
  EXPECT_TRUE(report.find(node) != std::string::npos || report.find(rank) != std::string::npos) << report;
}

TEST(Hostile, WhatIsMadeFromTheDefinitionsStopsNothingWithoutASentence) {
  Tally tally;
  const std::uint64_t wanted = number_in("GRAPNEL_HOSTILE_MESSAGES", 50'000);
  if (const std::uint64_t only = number_in("GRAPNEL_TEST_SEED", 0); only != 0) return run_one(only, tally);
  for (std::uint64_t seed = number_in("GRAPNEL_HOSTILE_FROM", 1); tally.sent < wanted && !HasFailure(); ++seed) {
    run_one(seed, tally);
  }
  std::cout << fmt::format("{} messages; worlds: {} right to the end, {} ended with a sentence; {} MiB at most\n",
                           tally.sent, tally.right, tally.sentences, tally.grown_most / base::kMiB);
  const std::uint64_t least = wanted / 1000;
  for (const auto& row : tally.rows) {
    if (row.name == nullptr) continue;
    std::cout << fmt::format("  {:<24} {:>7} by the client {:>7} by the server {:>7} done {:>7} refused\n", row.name,
                             row.by_client, row.by_server, row.done, row.other);
    EXPECT_GE(row.by_client, least) << row.name;
    EXPECT_GE(row.by_server, least) << row.name;
  }
  EXPECT_GT(tally.right, 0U);
  EXPECT_LT(tally.grown_most, 64 * base::kMiB);
}

}  // namespace
}  // namespace grapnel::test
