// Readers that join those that are inside, in spite of a writer that waits (locks::Ask::joins_readers), in all worlds.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "locks/lock_set.hpp"
#include "runtime/lock_set_access.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

using base::kMicrosecond_ns;
using base::kMillisecond_ns;
using locks::Acquisition;
using locks::Ask;

constexpr Ask kJoins{.shared = true, .joins_readers = true};

LockSet make(Runtime& g, LockKind kind, int count = 1, std::size_t payload_bytes = 0) {
  LockOptions options;
  options.kind = kind;
  options.shared_mode = true;
  options.payload_bytes = payload_bytes;
  options.backoff_ns = 500;
  options.backoff_most_ns = 20 * kMicrosecond_ns;
  auto created = g.create_lock_set(count, options);
  EXPECT_OK(created.status());
  return created.ok() ? *created : LockSet();
}

void pass(Runtime& g, std::uint64_t time_ns) { sim::pass_time(*RuntimeAccess::parts(g).host, time_ns); }

Ask for_a_moment(Ask ask) {
  ask.timeout_ns = kMillisecond_ns;
  return ask;
}

/// Readers and a writer of one lock; each rank has a part.
class Scene {
 public:
  Scene(Runtime& g, LockKind kind, Rank home) : g_(g), home_(home), locks_(make(g, kind)) {}
  ~Scene() { EXPECT_OK(g_.destroy_lock_set(locks_)); }

  locks::Set& set() { return *LockSetAccess::of(locks_); }
  bool am(int rank) const { return static_cast<int>(index(g_.rank())) == rank; }
  void meet() { EXPECT_OK(g_.barrier()); }
  Status take(const Ask& ask) { return set().acquire(0, home_, ask, nullptr); }
  bool try_to(const Ask& ask) {
    const auto tried = set().attempt(0, home_, ask, nullptr);
    EXPECT_OK(tried.status());
    return tried.ok() && *tried;
  }
  void leave(bool shared) { EXPECT_OK(set().release(0, home_, shared, {})); }

  void start_to_write() {
    auto started = set().start(0, home_, {});
    ASSERT_OK(started.status());
    writer_ = *started;
    expect_to_wait();
  }
  void expect_to_wait() {
    for (int look = 0; look < 20; ++look) {
      const auto there = set().test(*writer_, nullptr);
      EXPECT_TRUE(there.ok() && !*there);
      pass(g_, 100 * kMicrosecond_ns);
    }
  }
  void write() {
    EXPECT_OK(set().finish(*writer_, nullptr));
    leave(false);
  }

 private:
  Runtime& g_;
  const Rank home_;
  LockSet locks_;
  std::shared_ptr<Acquisition> writer_;
};

const std::vector<Shape> kShapes{{3, 1}, {3, 2}, {3, 3}, {4, 2}, {5, 3}};

}  // namespace

// Rank 0 reads, the last one waits to write, 1 joins 0, and 0 leaves: the writer waits for 1, too.
WORLD_TEST_ON(LockJoins, AReaderComesInBesideReaders, kShapes) {
  const int last = g.size() - 1;
  for (const LockKind kind : kAllLockKinds) {
    for (const Rank home : {Rank{0}, Rank{1}, Rank{last}}) {
      SCOPED_TRACE(fmt::format("{}, home {}", to_string(kind), index(home)));
      Scene scene(g, kind, home);
      if (scene.am(0)) EXPECT_OK(scene.take({.shared = true}));
      scene.meet();
      if (scene.am(last)) scene.start_to_write();
      scene.meet();
      if (scene.am(1)) {
        EXPECT_CODE(Code::timed_out, scene.take(for_a_moment({.shared = true})));
        EXPECT_OK(scene.take(kJoins));
        scene.leave(true);
        EXPECT_TRUE(scene.try_to(kJoins));
      }
      scene.meet();
      if (scene.am(0)) scene.leave(true);
      scene.meet();
      if (scene.am(last)) scene.expect_to_wait();
      scene.meet();
      if (scene.am(1)) scene.leave(true);
      if (scene.am(last)) scene.write();
      scene.meet();
    }
  }
}

// None is inside to be joined.
WORLD_TEST_ON(LockJoins, AReaderWaitsForAWriterThatIsInside, kShapes) {
  const int last = g.size() - 1;
  for (const LockKind kind : kAllLockKinds) {
    for (const Rank home : {Rank{0}, Rank{last}}) {
      SCOPED_TRACE(fmt::format("{}, home {}", to_string(kind), index(home)));
      Scene scene(g, kind, home);
      if (scene.am(0)) EXPECT_OK(scene.take({}));
      scene.meet();
      if (!scene.am(0)) {
        EXPECT_FALSE(scene.try_to(kJoins));
        EXPECT_CODE(Code::timed_out, scene.take(for_a_moment(kJoins)));
      }
      scene.meet();
      if (scene.am(0)) scene.leave(false);
      if (!scene.am(0)) {
        EXPECT_OK(scene.take(kJoins));
        scene.leave(true);
      }
      scene.meet();
    }
  }
}

// Ranks 0 and 1 hold one lock each, a writer waits at either, and both readers want the other's lock. Without joins
// each waits behind the writer that waits for the other one.
WORLD_TEST_ON(LockJoins, TwoReadersInOppositeOrder, (std::vector<Shape>{{4, 1}, {4, 2}, {4, 3}, {4, 4}, {8, 3}})) {
  const std::size_t me = index(g.rank());
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockSet created = make(g, kind, 2);
    locks::Set& set = *LockSetAccess::of(created);
    for (int round = 0; round < 3; ++round) {
      const Rank homes[] = {Rank{round}, Rank{g.size() - 1 - round}};
      const int mine = static_cast<int>(me % 2), other = 1 - mine;
      if (me < 2) EXPECT_OK(set.acquire(mine, homes[mine], {.shared = true}, nullptr));
      EXPECT_OK(g.barrier());
      if (me >= 2) {  // a writer of 0's lock, one of 1's, and more where there are more ranks
        EXPECT_OK(set.acquire(mine, homes[mine], {}, nullptr));
        EXPECT_OK(set.release(mine, homes[mine], false, {}));
      } else {
        pass(g, 2 * kMillisecond_ns);
        EXPECT_OK(set.acquire(other, homes[other], kJoins, nullptr));
        EXPECT_OK(set.release(mine, homes[mine], true, {}));
        EXPECT_OK(set.release(other, homes[other], true, {}));
      }
      EXPECT_OK(g.barrier());
    }
    EXPECT_OK(g.destroy_lock_set(created));
  }
}

// A reader in turn has asked for its node; then one joins, and takes it along.
WORLD_TEST_ON(LockJoins, AReaderInTurnIsTakenAlong, (std::vector<Shape>{{4, 2}, {8, 3}})) {
  const int last = g.size() - 1;  // the node of the two is that of rank 0 or of the last one
  for (const bool at_home : {false, true}) {
    Scene scene(g, LockKind::reader_writer, at_home ? Rank{last} : Rank{0});
    const int holder = 0, writer = 1, in_turn = last, joins = last - 1;
    if (scene.am(holder)) EXPECT_OK(scene.take({.shared = true}));
    scene.meet();
    if (scene.am(writer)) scene.start_to_write();
    scene.meet();
    if (scene.am(in_turn)) EXPECT_CODE(Code::timed_out, scene.take(for_a_moment({.shared = true})));
    scene.meet();
    if (scene.am(joins)) EXPECT_OK(scene.take(kJoins));
    scene.meet();
    if (scene.am(holder) || scene.am(joins)) scene.leave(true);
    if (scene.am(writer)) scene.write();
    scene.meet();
  }
}

// Of reader_writer, which has the payload in each node; the other kinds do not join in such a set.
WORLD_TEST_ON(LockJoins, WithPayloads, (std::vector<Shape>{{3, 1}, {3, 2}, {3, 3}})) {
  const Rank home{0};
  const std::size_t me = index(g.rank());
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    LockSet created = make(g, kind, 1, 16);
    locks::Set& set = *LockSetAccess::of(created);
    const Bytes left(16, std::byte{5});
    if (me == 0) {
      EXPECT_OK(set.acquire(0, home, {}, nullptr));
      EXPECT_OK(set.release(0, home, false, left));
      EXPECT_OK(set.acquire(0, home, {.shared = true}, nullptr));
    }
    EXPECT_OK(g.barrier());
    std::shared_ptr<Acquisition> writer;
    if (me == 2) {
      auto started = set.start(0, home, {});
      ASSERT_OK(started.status());
      writer = *started;
      for (int look = 0; look < 5; ++look) {
        const auto there = set.test(*writer, nullptr);
        EXPECT_TRUE(there.ok() && !*there);
        pass(g, kMillisecond_ns);
      }
    }
    EXPECT_OK(g.barrier());
    if (me == 1) {
      Bytes received;
      const Status taken = set.acquire(0, home, for_a_moment(kJoins), &received);
      EXPECT_TRUE(taken.ok() || taken.code() == Code::timed_out);
      if (kind == LockKind::reader_writer && world_has_virtual_time()) EXPECT_OK(taken);
      if (kind != LockKind::reader_writer) EXPECT_FALSE(taken.ok());
      if (taken.ok()) {
        EXPECT_EQ(received, left);
        EXPECT_OK(set.release(0, home, true, {}));
      }
    }
    EXPECT_OK(g.barrier());
    if (me == 0) EXPECT_OK(set.release(0, home, true, {}));
    if (me == 2) {
      EXPECT_OK(set.finish(*writer, nullptr));
      EXPECT_OK(set.release(0, home, false, {}));
    }
    EXPECT_OK(g.barrier());
    EXPECT_OK(g.destroy_lock_set(created));
  }
}

}  // namespace grapnel::test
