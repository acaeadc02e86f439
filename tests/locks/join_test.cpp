// Readers that join those that are inside, in spite of a writer that waits (locks::Ask::joins_readers), in all worlds.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <vector>

#include "locks/join_scene.hpp"

namespace grapnel::test {
namespace {

void pass(Runtime& g, std::uint64_t time_ns) { sim::pass_time(*g.implementation().host, time_ns); }

const std::vector<Shape> kShapes{{3, 1}, {3, 2}, {3, 3}, {4, 2}, {5, 3}};

}  // namespace

WORLD_TEST_ON(LockJoins, AReaderComesInBesideReaders, kShapes) {
  for (const LockKind kind : kAllLockKinds) {
    for (const Rank home : {Rank{0}, Rank{1}, Rank{g.size() - 1}}) {
      SCOPED_TRACE(fmt::format("{}, home {}", to_string(kind), index(home)));
      join_beside_a_reader(g, kind, home);
    }
  }
}

// None is inside to be joined.
WORLD_TEST_ON(LockJoins, AReaderWaitsForAWriterThatIsInside, kShapes) {
  const int last = g.size() - 1;
  for (const LockKind kind : kAllLockKinds) {
    for (const Rank home : {Rank{0}, Rank{last}}) {
      SCOPED_TRACE(fmt::format("{}, home {}", to_string(kind), index(home)));
      JoinScene scene(g, kind, home);
      if (scene.am(0)) EXPECT_OK(scene.take({}));
      scene.meet();
      if (!scene.am(0)) {
        EXPECT_FALSE(scene.try_to(kJoins));
        locks::Ask for_a_moment = kJoins;
        for_a_moment.timeout_ns = base::kMillisecond_ns;
        EXPECT_CODE(Code::timed_out, scene.take(for_a_moment));
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
    LockSet created = make_joined_set(g, kind, 2);
    locks::Set& set = *created.set();
    for (int round = 0; round < 3; ++round) {
      const Rank homes[] = {Rank{round}, Rank{g.size() - 1 - round}};
      const int mine = static_cast<int>(me % 2), other = 1 - mine;
      if (me < 2) EXPECT_OK(set.acquire(mine, homes[mine], {.shared = true}, nullptr));
      EXPECT_OK(g.barrier());
      if (me >= 2) {  // a writer of 0's lock, one of 1's, and more where there are more ranks
        EXPECT_OK(set.acquire(mine, homes[mine], {}, nullptr));
        EXPECT_OK(set.release(mine, homes[mine], false, {}));
      } else {
        pass(g, 2 * base::kMillisecond_ns);
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
    JoinScene scene(g, LockKind::reader_writer, at_home ? Rank{last} : Rank{0});
    const int holder = 0, writer = 1, in_turn = last, joins = last - 1;
    if (scene.am(holder)) EXPECT_OK(scene.take({.shared = true}));
    scene.meet();
    if (scene.am(writer)) scene.start_to_write();
    scene.meet();
    if (scene.am(in_turn)) scene.take_in_vain({.shared = true});
    scene.meet_while_the_writer_looks();
    if (scene.am(joins)) EXPECT_OK(scene.take(kJoins));
    scene.meet_while_the_writer_looks();
    if (scene.am(holder) || scene.am(joins)) scene.leave(true);
    if (scene.am(writer)) scene.write();
    scene.meet();
  }
}

// Of reader_writer, which has the payload in each node; the other kinds do not join in such a set.
WORLD_TEST_ON(LockJoins, WithPayloads, (std::vector<Shape>{{3, 1}, {3, 2}, {3, 3}})) {
  const Bytes left(16, std::byte{5});
  for (const LockKind kind : kAllLockKinds) {
    SCOPED_TRACE(to_string(kind));
    JoinScene scene(g, kind, Rank{0}, left.size());
    if (scene.am(0)) {
      EXPECT_OK(scene.take({}));
      scene.leave(false, left);
      EXPECT_OK(scene.take({.shared = true}));
    }
    scene.meet();
    if (scene.am(2)) scene.start_to_write();
    scene.meet();
    if (scene.am(1) && kind != LockKind::reader_writer) scene.take_in_vain(kJoins);
    if (scene.am(1) && kind == LockKind::reader_writer) {
      Bytes received;
      EXPECT_OK(scene.take(kJoins, &received));
      EXPECT_EQ(received, left);
      scene.leave(true);
    }
    scene.meet_while_the_writer_looks();
    if (scene.am(0)) scene.leave(true);
    if (scene.am(2)) scene.write();
    scene.meet();
  }
}

}  // namespace grapnel::test
