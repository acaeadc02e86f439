// Messages, exactly: what docs/locks.md promises for each kind, counted by the locks themselves.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "locks/lock_set.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

void settle(Runtime& g) { sim::pass_time(*g.implementation().host, 20 * base::kMillisecond_ns); }

// Collective: what all ranks and servers have sent for locks of that set. Nothing may be under way.
std::int64_t messages(Runtime& g, const Memory& board, const LockSet& set) {
  EXPECT_OK(g.barrier());
  settle(g);
  const LockCounts counts = set.counts();
  const auto mine = static_cast<std::int64_t>(counts.messages + counts.server_messages);
  EXPECT_OK(g.put(&mine, static_cast<std::int64_t*>(board.on(Rank{0})) + index(g.rank()), sizeof mine, Rank{0}));
  EXPECT_OK(g.barrier());
  std::vector<std::int64_t> all(static_cast<std::size_t>(g.size()));
  EXPECT_OK(g.get(board.on(Rank{0}), all.data(), all.size() * sizeof(std::int64_t), Rank{0}));
  EXPECT_OK(g.barrier());
  std::int64_t sum = 0;
  for (const std::int64_t one : all) sum += one;
  return sum;
}

struct Expected {
  LockKind kind;
  int acquire, release, hand_off;
};

// Three ranks, each a node of its own: the home, and two that use its lock. -1: not fixed (it polls).
constexpr Expected kBetweenNodes[] = {
    {LockKind::server_queue, 2, 1, 2},  {LockKind::ticket, 2, 1, -1},       {LockKind::armci_hybrid, 2, 1, 2},
    {LockKind::test_and_set, 2, 1, -1}, {LockKind::mcs, 2, 1, 1},           {LockKind::mcs_by_cas, 2, 1, 1},
    {LockKind::cohort, 2, 1, 1},        {LockKind::reader_writer, 2, 1, 2},
};

// How one waits: at once to the end, with another library between sleeps, or by looking now and then.
enum class Wait { whole, pieces, looks };
constexpr Wait kAllWaits[] = {Wait::whole, Wait::pieces, Wait::looks};
constexpr std::uint64_t kPiece_ns = 50 * base::kMicrosecond_ns;

void lock_by(Runtime& g, LockSet& locks, Wait how) {
  const auto run = [] {};
  if (how == Wait::whole) {
    EXPECT_OK(locks.lock(0, Rank{0}));
    return;
  }
  if (how == Wait::pieces) {
    const progress::BetweenSleeps between(run);
    EXPECT_OK(locks.lock(0, Rank{0}));
    return;
  }
  locks::Set& set = *locks.set();
  const auto started = set.start(0, Rank{0}, {});
  ASSERT_OK(started.status());
  for (;;) {
    sim::pass_time(*g.implementation().host, kPiece_ns);
    const auto over = set.test(**started, nullptr);
    ASSERT_OK(over.status());
    if (*over) return;
  }
}

// Held for 60 ms by one rank, the other tries again and again, with pauses: so many messages it takes until it has it.
std::uint64_t messages_of_the_waiter(Runtime& g, LockKind kind, std::uint64_t first_ns, std::uint64_t longest_ns,
                                     Wait how) {
  LockOptions options;
  options.kind = kind;
  options.backoff_ns = first_ns;
  options.backoff_most_ns = longest_ns;
  auto created = g.create_lock_set(1, options);
  EXPECT_TRUE(created.ok());
  const bool holds = index(g.rank()) == 0;
  if (holds) EXPECT_OK(created->lock(0, Rank{0}));
  EXPECT_OK(g.barrier());
  if (holds) {
    for (int i = 0; i < 3; ++i) settle(g);
  } else {
    lock_by(g, *created, how);
  }
  EXPECT_OK(created->unlock(0, Rank{0}));
  const std::uint64_t messages = created->counts().messages;
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(*created));
  return holds ? 0 : messages;
}

}  // namespace

WORLD_TEST_ON(LockCounts, BetweenNodesAreWhatIsPromised, (std::vector<Shape>{{3, 3}})) {
  const auto board = g.allocate(8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(board.ok());
  const std::size_t me = index(g.rank());
  const Rank home{0};
  for (const Expected& expected : kBetweenNodes) {
    SCOPED_TRACE(to_string(expected.kind));
    LockOptions options;
    options.kind = expected.kind;
    auto created = g.create_lock_set(1, options);
    ASSERT_TRUE(created.ok());
    LockSet set = *created;
    const auto count = [&] { return messages(g, *board, set); };

    std::int64_t before = count();
    if (me == 1) EXPECT_OK(set.lock(0, home));
    std::int64_t after = count();
    EXPECT_EQ(after - before, expected.acquire) << "free acquire: a request and its answer";
    before = after;
    if (me == 1) EXPECT_OK(set.unlock(0, home));
    after = count();
    EXPECT_EQ(after - before, expected.release) << "release without successor";

    // Rank 1 holds it, rank 2 waits: what does the hand-off cost?
    LockRequest request;
    if (me == 1) EXPECT_OK(set.lock(0, home));
    EXPECT_OK(g.barrier());
    if (me == 2) {
      auto started = set.start_lock(0, home);
      ASSERT_TRUE(started.ok());
      request = *started;
      settle(g);
      static_cast<void>(set.test(request));  // sends the link where the rank does that itself
      settle(g);
      static_cast<void>(set.test(request));
    }
    before = count();
    if (me == 1) EXPECT_OK(set.unlock(0, home));
    if (me != 2) settle(g);
    EXPECT_OK(g.barrier());
    if (expected.hand_off >= 0) {
      EXPECT_EQ(count() - before, expected.hand_off) << "hand-off";
    }
    if (me == 2) EXPECT_OK(set.wait(request));
    if (me == 2) EXPECT_OK(set.unlock(0, home));
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(set));
  }
  EXPECT_OK(g.free(*board));
}

// Readers of a node that has a shared grant send nothing; a writer calls back each node that shares, once.
WORLD_TEST_ON(LockCounts, ReadersOfANodeWithAGrantSendNothing, (std::vector<Shape>{{3, 3}, {5, 2}, {8, 3}})) {
  const auto board = g.allocate(8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(board.ok());
  LockOptions options;
  options.kind = LockKind::reader_writer;
  auto created = g.create_lock_set(1, options);
  ASSERT_TRUE(created.ok());
  LockSet set = *created;
  const auto count = [&] { return messages(g, *board, set); };
  EXPECT_OK(set.lock_shared(0, Rank{0}));
  EXPECT_OK(set.unlock_shared(0, Rank{0}));
  EXPECT_OK(g.barrier());
  const std::int64_t shared_by_all = count();
  for (int i = 0; i < 10; ++i) {
    EXPECT_OK(set.lock_shared(0, Rank{0}));
    EXPECT_OK(set.unlock_shared(0, Rank{0}));
  }
  EXPECT_EQ(count(), shared_by_all);
  if (index(g.rank()) == 1) EXPECT_OK(set.lock(0, Rank{0}));
  EXPECT_OK(g.barrier());
  // The request (which gives the own grant back), a recall to and an answer from each other node, the grant. What a
  // server tells its own node is no message; what a rank tells its own node's server is one.
  const bool writer_at_home = g.node_of(Rank{1}) == g.node_of(Rank{0});
  const std::int64_t others = g.node_count() - 1;
  const std::int64_t recalls = writer_at_home ? 2 * others : 2 * (others - 1);
  EXPECT_EQ(count() - shared_by_all, 1 + recalls + (writer_at_home ? 0 : 1));
  if (index(g.rank()) == 1) EXPECT_OK(set.unlock(0, Rank{0}));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(set));
  EXPECT_OK(g.free(*board));
}

namespace {

constexpr LockKind kCountReaders[] = {LockKind::server_queue, LockKind::ticket, LockKind::armci_hybrid,
                                      LockKind::test_and_set, LockKind::mcs,    LockKind::mcs_by_cas,
                                      LockKind::cohort};

// What `act` of rank `actor` makes all send.
template <typename Act>
std::int64_t messages_of(Runtime& g, const Memory& board, const LockSet& set, std::size_t actor, Act act) {
  const std::int64_t before = messages(g, board, set);
  if (index(g.rank()) == actor) act();
  return messages(g, board, set) - before;
}

}  // namespace

// The shared mode around an algorithm: writers alone send what they send without it; a reader passes through the lock.
WORLD_TEST_ON(LockCounts, OfReadersAreWhatIsPromised, (std::vector<Shape>{{3, 3}})) {
  const auto board = g.allocate(8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(board.ok());
  const Rank home{0};
  for (const LockKind kind : kCountReaders) {
    SCOPED_TRACE(to_string(kind));
    LockOptions options;
    options.kind = kind;
    options.shared_mode = true;
    auto created = g.create_lock_set(1, options);
    ASSERT_OK(created.status());
    LockSet set = *created;
    const auto of = [&](std::size_t actor, auto act) { return messages_of(g, *board, set, actor, act); };
    const auto lock = [&] { EXPECT_OK(set.lock(0, home)); };
    const auto unlock = [&] { EXPECT_OK(set.unlock(0, home)); };
    const auto share = [&] { EXPECT_OK(set.lock_shared(0, home)); };
    const auto leave = [&] { EXPECT_OK(set.unlock_shared(0, home)); };
    // Ranks beside the server send to it, of this kind.
    const std::int64_t asks = kind == LockKind::server_queue ? 1 : 0;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(of(1, lock), 2) << "no reader since the last writer";
      EXPECT_EQ(of(1, unlock), 1);
    }
    EXPECT_EQ(of(1, share), 3) << "it takes the lock and gives it back";
    EXPECT_EQ(of(2, share), 3);
    EXPECT_EQ(of(0, share), 3 * asks);
    EXPECT_EQ(of(0, leave), 0);
    EXPECT_EQ(of(1, leave), 1);
    EXPECT_EQ(of(2, leave), 1);
    EXPECT_EQ(of(1, lock), 4) << "asks whether the readers have left";
    EXPECT_EQ(of(1, unlock), 1);
    EXPECT_EQ(of(2, lock), 2) << "no reader since";
    EXPECT_EQ(of(2, unlock), 1);
    EXPECT_EQ(of(1, share), 3);
    EXPECT_EQ(of(1, leave), 1);
    EXPECT_EQ(of(0, lock), 2 * asks) << "it looks itself";
    EXPECT_EQ(of(0, unlock), asks);

    // A writer elsewhere waits for a reader of the home's node, which is the last one and informs its server.
    EXPECT_EQ(of(0, share), 3 * asks);
    LockRequest request;
    EXPECT_EQ(of(1,
                 [&] {
                   auto started = set.start_lock(0, home);
                   ASSERT_OK(started.status());
                   request = *started;
                   for (int i = 0; i < 3; ++i) {
                     const auto tested = set.test(request);
                     EXPECT_TRUE(tested.ok() && !*tested);
                     settle(g);
                   }
                 }),
              3)
        << "the lock, and the question";
    EXPECT_EQ(of(0, leave), 2) << "to the server, and its answer";
    EXPECT_EQ(of(1, [&] { EXPECT_OK(set.wait(request)); }), 0);
    EXPECT_EQ(of(1, unlock), 1);
    EXPECT_OK(g.destroy_lock_set(set));
  }
  EXPECT_OK(g.free(*board));
}

namespace {

// A place in line, and every message of it sent.
std::shared_ptr<locks::Acquisition> wait_in_line(Runtime& g, locks::Set& set, const locks::Ask& ask) {
  auto started = set.start(0, Rank{0}, ask);
  EXPECT_OK(started.status());
  if (!started) return nullptr;
  settle(g);
  const auto there = set.test(**started, nullptr);
  EXPECT_TRUE(there.ok() && !*there);
  return *started;
}

}  // namespace

// Ranks 0 and 1 on node 0, the home, 2 and 3 on node 1. What joins costs what a grant costs, or nothing.
WORLD_TEST_ON(LockCounts, OfReadersThatJoin, (std::vector<Shape>{{4, 2}})) {
  const auto board = g.allocate(8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(board.ok());
  LockOptions options;
  options.kind = LockKind::reader_writer;
  auto created = g.create_lock_set(1, options);
  ASSERT_OK(created.status());
  locks::Set& set = *created->set();
  const locks::Ask shared{.shared = true}, joins{.shared = true, .joins_readers = true};
  const auto of = [&](std::size_t actor, auto act) { return messages_of(g, *board, *created, actor, act); };
  const auto take = [&](const locks::Ask& ask) { return [&] { EXPECT_OK(set.acquire(0, Rank{0}, ask, nullptr)); }; };
  const auto leave = [&] { EXPECT_OK(set.release(0, Rank{0}, true, {})); };
  std::shared_ptr<locks::Acquisition> place;
  const auto write = [&] {
    EXPECT_OK(set.finish(*place, nullptr));
    EXPECT_OK(set.release(0, Rank{0}, false, {}));
  };
  EXPECT_EQ(of(2, take(shared)), 2);
  EXPECT_EQ(of(0, [&] { place = wait_in_line(g, set, {}); }), 2) << "to its server, and the recall";
  EXPECT_EQ(of(3, take(joins)), 0) << "its node has the grant";
  EXPECT_EQ(of(1, take(joins)), 1) << "to its server, which grants";
  EXPECT_EQ(of(2, leave), 0);
  EXPECT_EQ(of(3, leave), 1);
  EXPECT_EQ(of(1, leave), 1);
  EXPECT_EQ(of(0, write), 1);

  EXPECT_EQ(of(0, take(shared)), 1);
  EXPECT_EQ(of(1, [&] { place = wait_in_line(g, set, {}); }), 1);
  EXPECT_EQ(of(2, take(joins)), 2) << "the request, and the grant";
  EXPECT_EQ(of(2, leave), 1) << "the grant has said that it ends";
  std::shared_ptr<locks::Acquisition> in_turn;
  EXPECT_EQ(of(3, [&] { in_turn = wait_in_line(g, set, shared); }), 1);
  EXPECT_EQ(of(2, take(joins)), 2) << "the node has asked: that it joins, and the grant";
  EXPECT_EQ(of(3, [&] { EXPECT_OK(set.finish(*in_turn, nullptr)); }), 0);
  EXPECT_EQ(of(2, leave), 0);
  EXPECT_EQ(of(3, leave), 1);
  EXPECT_EQ(of(0, leave), 1);
  EXPECT_EQ(of(1, write), 1);
  EXPECT_OK(g.destroy_lock_set(*created));
  EXPECT_OK(g.free(*board));
}

WORLD_TEST_ON(LockCounts, PausesDouble, (std::vector<Shape>{{2, 2}})) {
  const std::uint64_t first_ns = 100 * base::kMicrosecond_ns;
  for (const Wait how : kAllWaits) {
    const std::uint64_t doubling = messages_of_the_waiter(g, LockKind::test_and_set, first_ns, base::kSecond_ns, how);
    if (index(g.rank()) == 1) {
      // 60 ms are a dozen pauses that double, of half their length at least.
      EXPECT_LE(doubling, 2 * 13 + 1u) << "wait " << static_cast<int>(how);
    }
  }
  if (!world_has_virtual_time()) return;  // how many short pauses fit into 60 ms is the machine's affair
  const std::uint64_t doubling =
      messages_of_the_waiter(g, LockKind::test_and_set, first_ns, base::kSecond_ns, Wait::whole);
  const std::uint64_t alike = messages_of_the_waiter(g, LockKind::test_and_set, first_ns, first_ns, Wait::whole);
  if (index(g.rank()) == 1) {
    EXPECT_GT(alike, 2 * doubling);
  }
}

// The one before it in the line is worth one pause, however the wait is cut into pieces.
WORLD_TEST_ON(LockCounts, ATicketIsReadOncePerPause, (std::vector<Shape>{{2, 2}})) {
  const std::uint64_t pause_ns = 5 * base::kMillisecond_ns;
  for (const Wait how : kAllWaits) {
    const std::uint64_t messages = messages_of_the_waiter(g, LockKind::ticket, pause_ns, base::kSecond_ns, how);
    if (index(g.rank()) == 1) {
      // In 60 ms, at half a pause's distance at least; on a busy machine the holder sleeps longer.
      EXPECT_LE(messages, 2 * 2 * 12 + 3u) << "wait " << static_cast<int>(how);
    }
  }
}

}  // namespace grapnel::test
