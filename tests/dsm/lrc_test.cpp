// The homeless protocol: what its calls cost in messages, and collections of its records.
// SPDX-License-Identifier: Apache-2.0
#include "dsm/small_heap.hpp"

namespace grapnel::test {
namespace {

SmallHeap open(Runtime& g, std::uint64_t record_bytes = base::kMiB) {
  heap_settings = {.protocol = dsm::ProtocolChoice::lrc, .record_bytes = record_bytes};
  SmallHeap heap(g);
  heap_settings = {};
  return heap;
}

// The lowest rank of each node.
bool leads(const Runtime& g) {
  bool first = true;
  for (int rank = 0; rank < static_cast<int>(index(g.rank())); ++rank) first = first && !g.same_node(Rank{rank});
  return first;
}

}  // namespace

// A release sends nothing, whatever was written; and what no other node reads goes nowhere.
WORLD_TEST_ALONE(LrcCounts, AReleaseSendsNothing) {
  SmallHeap h = open(g);
  const std::size_t mine = static_cast<std::size_t>(h.me()) * 8 * kPage;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i < 8; ++i) h.set(mine + i * kPage, round);
    h.barrier();
  }
  const SharedHeapCounts counts = h.heap().counts();
  EXPECT_EQ(counts.diffs + counts.diff_messages + counts.fetches + counts.home_questions, 0U);
  h.barrier();
}

// A page that each node wrote is one message to each of the others, and one record of each.
WORLD_TEST_ALONE_ON(LrcCounts, AMissAsksEveryWriterOnce, shapes_from(2)) {
  SmallHeap h = open(g);
  const bool first = leads(g);
  if (first) h.set(8 * static_cast<std::size_t>(h.me()), 7);
  h.barrier();
  const SharedHeapCounts before = h.heap().counts();
  const auto others = static_cast<std::uint64_t>(g.node_count() - 1);
  if (first) {
    for (int rank = 0; rank < h.size(); ++rank) {
      bool leader = true;
      for (int lower = 0; lower < rank; ++lower) leader = leader && g.node_of(Rank{lower}) != g.node_of(Rank{rank});
      EXPECT_EQ(h.get(8 * static_cast<std::size_t>(rank)), leader ? 7U : 0U);
    }
  }
  const SharedHeapCounts after = h.heap().counts();
  EXPECT_EQ(after.faults - before.faults, first && others > 0 ? 1U : 0U);
  EXPECT_EQ(after.fetches - before.fetches, first ? others : 0U);
  EXPECT_EQ(after.diffs - before.diffs, first ? others : 0U);
  h.barrier();
}

// Records of many more bytes than a node may have at once: barriers collect them. Every page is written by all nodes in
// turn, and each node reads some pages only now and then, so that it comes upon records that are gone.
WORLD_TEST_ALONE(LrcCollection, RecordsAreCollectedAtBarriers) {
  SmallHeap h = open(g, 256 * base::kKiB);
  constexpr std::size_t kPages = 40;
  constexpr std::uint64_t kRounds = 24;
  const auto size = static_cast<std::uint64_t>(h.size());
  const auto writer_of = [&](std::size_t page, std::uint64_t round) {
    return static_cast<int>((page / 2 + round) % size);
  };
  const auto value = [](std::size_t page, std::uint64_t round, std::size_t word) {
    return pattern(Rank{static_cast<int>(page)}, round, word);
  };
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    for (std::size_t page = 0; page < kPages; ++page) {
      if (writer_of(page, round) != h.me()) continue;
      // Half of the words: those of the round before stay as they were.
      for (std::size_t word = round % 2; word < 512; word += 2)
        h.set(page * kPage + 8 * word, value(page, round, word));
    }
    h.barrier();
    for (std::size_t page = 0; page < kPages; ++page) {
      if ((page + round + static_cast<std::size_t>(h.me())) % 5 != 0) continue;
      for (std::size_t word = 0; word < 512; word += 7) {
        const std::uint64_t written = word % 2 == round % 2 ? round : round - 1;
        ASSERT_EQ(h.get(page * kPage + 8 * word), written == 0 ? 0 : value(page, written, word))
            << "page " << page << ", word " << word << ", round " << round;
      }
    }
    h.barrier();
  }
}

// What a node wrote before a collection, and no other node asked for, is asked for after it.
WORLD_TEST_ALONE(LrcCollection, WhatIsInNoRecordStaysWithItsWriter) {
  SmallHeap h = open(g, 128 * base::kKiB);
  const auto me = static_cast<std::size_t>(h.me()), size = static_cast<std::size_t>(h.size());
  constexpr std::size_t kOwn = 200, kShared = 20;
  h.set((kOwn + me) * kPage, me + 1);
  for (std::uint64_t round = 1; round <= 12; ++round) {
    for (std::size_t page = 0; page < kShared; ++page) {
      for (std::size_t word = me; word < 512; word += size) h.set(page * kPage + 8 * word, round + word);
    }
    h.barrier();
    for (std::size_t page = 0; page < kShared; ++page) {
      for (std::size_t word = 0; word < 512; word += 3) ASSERT_EQ(h.get(page * kPage + 8 * word), round + word);
    }
    h.barrier();
  }
  for (std::size_t rank = 0; rank < size; ++rank) EXPECT_EQ(h.get((kOwn + rank) * kPage), rank + 1);
  h.barrier();
}

}  // namespace grapnel::test
