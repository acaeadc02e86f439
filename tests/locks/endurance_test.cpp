// A great many acquisitions of one lock by ranks that never rest: every rank gets its share, and where a kind promises
// an order no rank is passed over.
//
// GRAPNEL_LOCK_ACQUISITIONS is how many of all ranks together (the soak takes a million). Every sixteenth is
// measured: how many others got the lock from the moment when this rank's place was taken to its own turn. In a queue
// that is first come, first served these are at most the other ranks, each once. Each time no other rank may be inside.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "harness/world.hpp"
#include "locks/exercise.hpp"

namespace grapnel::test {
namespace {

constexpr std::uint32_t kLocalPasses = 16;
constexpr Rank kHome{0};

int acquisitions_of_all() {
  const char* text = std::getenv("GRAPNEL_LOCK_ACQUISITIONS");
  return text != nullptr ? std::atoi(text) : 2'000;
}

std::vector<Shape> endurance_shapes() { return {{4, 1}, {4, 2}, {3, 3}}; }

constexpr std::int64_t kInside = std::int64_t{1} << 32;

// One rank's part. The counter at the lock's home gives every acquisition its number, and states in its upper half how
// many are inside.
class Endurance {
 public:
  Endurance(Runtime& g, const Memory& counter, LockSet set)
      : g_(g), counter_(counter.on(kHome)), set_(std::move(set)) {}

  void run(int acquisitions) {
    for (int i = 0; i < acquisitions && !::testing::Test::HasFailure(); ++i) {
      if (i % 16 == 0) {
        measured();
      } else {
        ASSERT_OK(set_.lock(0, kHome));
        enter();
        leave();
        ASSERT_OK(set_.unlock(0, kHome));
      }
    }
  }
  std::int64_t most_before() const { return most_before_; }
  double mean_before() const { return static_cast<double>(sum_before_) / static_cast<double>(std::max(measured_, 1)); }

 private:
  std::int64_t add_to_counter(std::int64_t increment) {
    const auto old = g_.fetch_and_add(counter_, increment, Width::bits64, kHome);
    EXPECT_OK(old.status());
    return old.ok() ? *old : 0;
  }
  // Answers how many had the lock before.
  std::int64_t enter() {
    const std::int64_t old = add_to_counter(kInside + 1);
    EXPECT_EQ(old / kInside, 0) << "somebody else holds the lock";
    return old % kInside;
  }
  void leave() { add_to_counter(-kInside); }
  void measured() {
    auto request = set_.start_lock(0, kHome);
    ASSERT_OK(request.status());
    // Behind the request: the home's server executes what arrives from one rank in its order.
    const std::int64_t at_place = add_to_counter(0) % kInside;
    ASSERT_OK(set_.wait(*request));
    const std::int64_t before = enter() - at_place;
    leave();
    ASSERT_OK(set_.unlock(0, kHome));
    most_before_ = std::max(most_before_, before);
    sum_before_ += before;
    ++measured_;
  }

  Runtime& g_;
  void* counter_;
  LockSet set_;
  std::int64_t most_before_ = 0, sum_before_ = 0;
  int measured_ = 0;
};

// Whether this rank's place is taken when `start_lock` has returned (at home) or, elsewhere, when the home's server has
// handled what it sent; then the order can be counted exactly.
bool counts_exactly(Runtime& g, LockKind kind) {
  const bool one_node = g.node_count() == 1;
  const bool at_home = g.same_node(Rank{0});
  switch (kind) {
    case LockKind::ticket:
    case LockKind::armci_hybrid:
    case LockKind::mcs: return true;
    case LockKind::server_queue: return one_node || !at_home;  // a rank beside the server sends to it all the same
    case LockKind::mcs_by_cas: return at_home;                 // elsewhere the swap may take several attempts
    case LockKind::cohort: return one_node;
    default: return false;
  }
}

void endure(Runtime& g, LockKind kind) {
  const auto counter = g.allocate(8);
  ASSERT_TRUE(counter.ok());
  LockOptions options;
  options.kind = kind;
  options.local_passes = kLocalPasses;
  auto created = g.create_lock_set(1, options);
  ASSERT_TRUE(created.ok()) << created.status().to_string();
  Endurance mine(g, *counter, *created);
  const int each = acquisitions_of_all() / g.size();
  ASSERT_OK(g.barrier());
  mine.run(each);
  std::printf("%s, rank %zu of %d on %d nodes: %d acquisitions; others before it: %lld at most, %.1f on average\n",
              to_string(kind), index(g.rank()), g.size(), g.node_count(), each,
              static_cast<long long>(mine.most_before()), mine.mean_before());
  if (counts_exactly(g, kind)) {
    EXPECT_LE(mine.most_before(), g.size() - 1);
  }
  if (kind == LockKind::cohort) {
    // A node waits for every other's passes, and once more where its own run out before this rank's turn. A link that
    // is under way lets some more through, so it is the average that is bounded, and not each wait.
    const double nodes = g.node_count(), ranks = g.size();
    EXPECT_LE(mine.mean_before(), ranks + 2 * (nodes - 1) * (kLocalPasses + 1));
  }
  ASSERT_OK(g.barrier());
  const auto all = g.fetch_and_add(counter->on(Rank{0}), 0, Width::bits64, Rank{0});
  EXPECT_TRUE(all.ok() && *all == std::int64_t{each} * g.size());
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(*created));
  EXPECT_OK(g.free(*counter));
}

// The last rank wants the lock so many times, the others until it has had it: one that is kept out never ends.
void want_it_among_others(Runtime& g, LockKind kind, bool shared, bool others_shared) {
  LockOptions options;
  options.kind = kind;
  options.shared_mode = shared || others_shared;
  auto created = g.create_lock_set(1, options);
  ASSERT_TRUE(created.ok());
  const auto over = g.allocate(4);
  ASSERT_TRUE(over.ok());
  const bool last = index(g.rank()) + 1 == static_cast<std::size_t>(g.size());
  const bool mine_shared = last ? shared : others_shared;
  auto* const is_over = static_cast<std::int32_t*>(over->local());
  *is_over = 0;
  ASSERT_OK(g.barrier());
  const int wanted = acquisitions_of_all() / 20;
  // acquire: pairs with the put of the last rank.
  for (int i = 0; last ? i < wanted : __atomic_load_n(is_over, __ATOMIC_ACQUIRE) == 0; ++i) {
    ASSERT_OK(mine_shared ? created->lock_shared(0, kHome) : created->lock(0, kHome));
    ASSERT_OK(mine_shared ? created->unlock_shared(0, kHome) : created->unlock(0, kHome));
  }
  const std::int32_t yes = 1;
  for (int rank = 0; last && rank < g.size(); ++rank) EXPECT_OK(g.put(&yes, over->on(Rank{rank}), 4, Rank{rank}));
  ASSERT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(*created));
  EXPECT_OK(g.free(*over));
}

// Readers and writers, all the time: no rank is kept out, neither by the ones nor by the others.
void read_and_write(Runtime& g, LockKind kind) {
  LockOptions options;
  options.kind = kind;
  options.shared_mode = true;
  auto created = g.create_lock_set(1, options);
  ASSERT_TRUE(created.ok());
  const auto words = g.allocate(16);
  ASSERT_TRUE(words.ok());
  const Rank home{0};
  auto* inside = static_cast<std::int64_t*>(words->on(home));  // writers · 2^32 + readers
  const int each = acquisitions_of_all() / g.size();
  constexpr std::int64_t kWriter = std::int64_t{1} << 32;
  base::Random random(index(g.rank()) + 1);
  ASSERT_OK(g.barrier());
  for (int i = 0; i < each && !::testing::Test::HasFailure(); ++i) {
    const bool reads = random.chance(0.75);
    ASSERT_OK(reads ? created->lock_shared(0, home) : created->lock(0, home));
    const auto before = g.fetch_and_add(inside, reads ? 1 : kWriter, Width::bits64, home);
    ASSERT_TRUE(before.ok());
    if (reads) {
      EXPECT_LT(*before, kWriter) << "a reader beside a writer";
    } else {
      EXPECT_EQ(*before, 0) << "a writer beside others";
    }
    ASSERT_OK(g.fetch_and_add(inside, reads ? -1 : -kWriter, Width::bits64, home).status());
    ASSERT_OK(reads ? created->unlock_shared(0, home) : created->unlock(0, home));
  }
  ASSERT_OK(g.barrier());
  EXPECT_OK(g.destroy_lock_set(*created));
  EXPECT_OK(g.free(*words));
}

}  // namespace

// One test per kind, so that each can be run alone.
#define ENDURES(kind) \
  WORLD_TEST_ON(LockEndurance, kind, endurance_shapes()) { endure(g, LockKind::kind); }

ENDURES(server_queue)
ENDURES(ticket)
ENDURES(armci_hybrid)
ENDURES(test_and_set)
ENDURES(mcs)
ENDURES(mcs_by_cas)
ENDURES(cohort)

#define READS_AND_WRITES(kind) \
  WORLD_TEST_ON(LockReadersAndWriters, kind, endurance_shapes()) { read_and_write(g, LockKind::kind); }

READS_AND_WRITES(server_queue)
READS_AND_WRITES(ticket)
READS_AND_WRITES(armci_hybrid)
READS_AND_WRITES(test_and_set)
READS_AND_WRITES(mcs)
READS_AND_WRITES(mcs_by_cas)
READS_AND_WRITES(cohort)
READS_AND_WRITES(reader_writer)

// The same where the others never stop: who is passed over for ever does not end.
#define NEVER_STARVES(kind) \
  WORLD_TEST_ON(LockNeverStarves, kind, endurance_shapes()) { want_it_among_others(g, LockKind::kind, false, false); }

NEVER_STARVES(server_queue)
NEVER_STARVES(ticket)
NEVER_STARVES(armci_hybrid)
NEVER_STARVES(test_and_set)
NEVER_STARVES(mcs)
NEVER_STARVES(mcs_by_cas)
NEVER_STARVES(cohort)

#define A_WRITER_NEVER_STARVES(kind)                                                  \
  WORLD_TEST_ON(LockNeverStarves, AWriterAmongReadersOf_##kind, endurance_shapes()) { \
    want_it_among_others(g, LockKind::kind, false, true);                             \
  }
#define A_READER_NEVER_STARVES(kind)                                                  \
  WORLD_TEST_ON(LockNeverStarves, AReaderAmongWritersOf_##kind, endurance_shapes()) { \
    want_it_among_others(g, LockKind::kind, true, false);                             \
  }

A_WRITER_NEVER_STARVES(reader_writer)
A_READER_NEVER_STARVES(reader_writer)
// The shared mode around an algorithm has the algorithm's order.
A_WRITER_NEVER_STARVES(server_queue)
A_WRITER_NEVER_STARVES(ticket)
A_WRITER_NEVER_STARVES(mcs)
A_WRITER_NEVER_STARVES(cohort)
A_READER_NEVER_STARVES(cohort)

}  // namespace grapnel::test
