// Small programs, each with the one outcome that the memory model of the shared heap allows.
// SPDX-License-Identifier: Apache-2.0
#include "dsm/small_heap.hpp"

namespace grapnel::test {

HEAP_TEST(Litmus, ABarrierPassesAMessage) {
  SmallHeap h(g);
  for (int round = 0; round < 4; ++round) {
    const int writer = round % h.size();
    if (h.me() == writer) {
      for (std::size_t i = 0; i < 8; ++i) h.set(i * 1000, pattern(Rank{writer}, static_cast<std::uint64_t>(round), i));
    }
    h.barrier();
    for (std::size_t i = 0; i < 8; ++i) {
      ASSERT_EQ(h.get(i * 1000), pattern(Rank{writer}, static_cast<std::uint64_t>(round), i)) << "round " << round;
    }
    h.barrier();
  }
}

HEAP_TEST(Litmus, ALockPassesAMessage) {
  SmallHeap h(g);
  // Data far from the flag; both under the lock.
  constexpr std::size_t kFlag = 0, kData = 10 * kPage;
  std::uint64_t seen = 0;
  const std::uint64_t rounds = 3 * static_cast<std::uint64_t>(h.size());
  while (seen < rounds) {
    h.lock(1);
    seen = h.get(kFlag);
    if (seen > 0) {
      ASSERT_EQ(h.get(kData + 8 * (seen % 100)), seen);
    }
    if (seen < rounds && seen % static_cast<std::uint64_t>(h.size()) == static_cast<std::uint64_t>(h.me())) {
      h.set(kData + 8 * ((seen + 1) % 100), seen + 1);
      h.set(kFlag, seen + 1);
    }
    h.unlock(1);
  }
  h.barrier();
}

// Neighbouring bytes, and neighbouring words, of all ranks at once.
HEAP_TEST(Litmus, WritersShareAPage) {
  SmallHeap h(g);
  const auto me = static_cast<std::size_t>(h.me()), size = static_cast<std::size_t>(h.size());
  for (std::uint8_t round = 1; round <= 5; ++round) {
    for (std::size_t i = me; i < 200; i += size) h.set<std::uint8_t>(i, static_cast<std::uint8_t>(round + i));
    for (std::size_t i = me; i < 100; i += size) h.set(kPage + 8 * i, round * 1000 + i);
    h.barrier();
    for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(h.get<std::uint8_t>(i), static_cast<std::uint8_t>(round + i));
    for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(h.get(kPage + 8 * i), round * 1000 + i);
    h.barrier();
  }
}

HEAP_TEST(Litmus, ACounterMovesFromRankToRank) {
  SmallHeap h(g);
  for (int i = 0; i < 10; ++i) {
    h.lock(3);
    h.set(64, h.get(64) + 1);
    h.unlock(3);
  }
  h.barrier();
  EXPECT_EQ(h.get(64), static_cast<std::uint64_t>(10 * h.size()));
}

// What B wrote after it saw A's write is seen with A's write by C, which never met A.
HEAP_TEST_ON(Litmus, SeeingIsTransitive, shapes_from(3)) {
  SmallHeap h(g);
  constexpr std::size_t kX = 0, kY = 5 * kPage, kZ = 9 * kPage;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    if (h.me() == 0) {
      h.lock(0);
      h.set(kX, round);
      h.set(kY, round);
      h.unlock(0);
    }
    for (bool done = false; h.me() == 1 && !done;) {
      h.lock(0);
      done = h.get(kY) == round;
      h.unlock(0);
      if (!done) continue;
      h.lock(1);
      h.set(kZ, round);
      h.unlock(1);
    }
    for (bool done = false; h.me() == 2 && !done;) {
      h.lock(1);
      done = h.get(kZ) == round;
      if (done) {
        ASSERT_EQ(h.get(kX), round);
      }
      h.unlock(1);
    }
    h.barrier();
  }
}

// A page that a lock makes stale while this rank has written it: both writes survive.
HEAP_TEST_ON(Litmus, ADirtyPageBecomesStale, shapes_from(2)) {
  SmallHeap h(g);
  for (std::uint64_t round = 1; round <= 5; ++round) {
    h.set(8 * static_cast<std::size_t>(h.me()), round);  // not under the lock: each rank's own
    h.lock(2);
    h.set(2048, h.get(2048) + 1);
    h.unlock(2);
    h.set(1024 + 8 * static_cast<std::size_t>(h.me()), round);
    h.barrier();
    for (int rank = 0; rank < h.size(); ++rank) {
      ASSERT_EQ(h.get(8 * static_cast<std::size_t>(rank)), round);
      ASSERT_EQ(h.get(1024 + 8 * static_cast<std::size_t>(rank)), round);
    }
    ASSERT_EQ(h.get(2048), round * static_cast<std::uint64_t>(h.size()));
    h.barrier();
  }
}

HEAP_TEST(Litmus, ABarrierWithALockHeld) {
  SmallHeap h(g);
  const int number = h.me() % 16;
  if (h.me() < 16) h.lock(number);
  h.set(8 * static_cast<std::size_t>(h.me()), 7);
  h.barrier();
  for (int rank = 0; rank < h.size(); ++rank) EXPECT_EQ(h.get(8 * static_cast<std::size_t>(rank)), 7U);
  h.set(kPage + 8 * static_cast<std::size_t>(h.me()), 8);
  if (h.me() < 16) h.unlock(number);
  h.barrier();
  for (int rank = 0; rank < h.size(); ++rank) EXPECT_EQ(h.get(kPage + 8 * static_cast<std::size_t>(rank)), 8U);
  h.barrier();
}

// The page is at home with its first writer. What that one writes before others have it, and after, and after an
// interval named it, is seen.
HEAP_TEST(Litmus, TheHomeWrites) {
  SmallHeap h(g);
  if (h.me() == 0) h.set(0, 1);
  h.barrier();
  for (std::uint64_t round = 1; round <= 6; ++round) {
    // Some ranks look in some rounds only, so the page is served again after it was named.
    if (round % 3 == 0 || h.me() % 2 == 0) {
      ASSERT_EQ(h.get(0), round);
    }
    h.barrier();
    if (h.me() == 0) h.set(0, round + 1);
    h.barrier();
  }
  EXPECT_EQ(h.get(0), 7U);
  h.barrier();
}

HEAP_TEST(Litmus, ThePartsOfALine) {
  SmallHeap h(g);
  // Each rank adds to its own 32-bit half words, which share 64-bit words with others'.
  const auto me = static_cast<std::size_t>(h.me()), size = static_cast<std::size_t>(h.size());
  for (std::uint32_t round = 1; round <= 4; ++round) {
    for (std::size_t i = me; i < 64; i += size) h.set<std::uint32_t>(4 * i, h.get<std::uint32_t>(4 * i) + round);
    h.barrier();
  }
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(h.get<std::uint32_t>(4 * i), 10U);
  h.barrier();
}

// As many diffs as one message holds, and then pages that were written and have not changed: the release waits for the
// message all the same.
WORLD_TEST_ALONE_ON(Litmus, TheLastDiffsAreEmpty, shapes_from(2)) {
  SmallHeap h(g);
  constexpr std::size_t kFull = 14, kPages = 20;  // 64 KiB hold 14 diffs of 4,624 bytes
  if (h.me() == 0) {
    for (std::size_t page = 0; page < kPages; ++page) h.set(page * kPage, std::uint64_t{1});
  }
  const int last = h.size() - 1;
  if (h.me() == last) h.set(kPages * kPage, std::uint64_t{1});  // at home with its writer: it makes no diff
  h.barrier();
  for (std::uint64_t round = 2; round <= 4; ++round) {
    if (h.me() == last) {
      h.lock(0);
      for (std::size_t at = 0; at < kFull * kPage; at += 8) h.set(at, round * 0x0101010101010101);
      for (std::size_t page = kFull; page < kPages; ++page) h.set(page * kPage, std::uint64_t{1});
      h.set(kPages * kPage, round);
      h.unlock(0);
    } else if (h.me() == last - 1) {
      for (bool done = false; !done;) {
        h.lock(0);
        done = h.get(kPages * kPage) == round;
        for (std::size_t at = 0; done && at < kFull * kPage; at += 8) {
          ASSERT_EQ(h.get(at), round * 0x0101010101010101) << at;
        }
        h.unlock(0);
      }
    }
    h.barrier();
  }
}

// Ranks that write without order see garbage where they race, and nothing else breaks.
HEAP_TEST(Litmus, ARaceHarmsOnlyItsOwnWords) {
  SmallHeap h(g);
  for (std::uint64_t round = 1; round <= 4; ++round) {
    h.set(0, static_cast<std::uint64_t>(h.me()) + round);
    h.set(64 + 8 * static_cast<std::size_t>(h.me()), round);
    if (round % 2 == 0) {
      h.lock(h.me() % 3);
      h.unlock(h.me() % 3);
    }
  }
  h.barrier();
  for (int rank = 0; rank < h.size(); ++rank) EXPECT_EQ(h.get(64 + 8 * static_cast<std::size_t>(rank)), 4U);
  h.barrier();
}

}  // namespace grapnel::test
