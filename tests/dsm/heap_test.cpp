// Allocation, mistakes, and what the calls of the shared heap cost in messages.
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "dsm/small_heap.hpp"

namespace grapnel::test {

HEAP_TEST(Heap, BlocksDoNotOverlapAndCanBeFreedAnywhere) {
  SmallHeap h(g);
  SharedHeap& heap = h.heap();
  constexpr std::size_t kBlocks = 20;
  // A table of all ranks' blocks, in the first page, which rank 0 gets.
  if (h.me() == 0) {
    const auto table = heap.allocate(8192);
    ASSERT_TRUE(table.ok()) << table.status().to_string();
    ASSERT_EQ(*table, heap.base());
  }
  h.barrier();
  void** const table = static_cast<void**>(heap.base());
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::size_t bytes = i % 4 == 3 ? 5000 : 10 + 100 * i;
    const auto block = heap.allocate(bytes);
    ASSERT_TRUE(block.ok()) << block.status().to_string();
    heap.store(table + static_cast<std::size_t>(h.me()) * kBlocks + i, *block);
    heap.store(static_cast<std::uint64_t*>(*block), pattern(g.rank(), 0, i));
  }
  h.barrier();
  std::set<void*> all;
  for (int rank = 0; rank < h.size(); ++rank) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      void* const block = heap.load(table + static_cast<std::size_t>(rank) * kBlocks + i);
      EXPECT_TRUE(all.insert(block).second);
      EXPECT_EQ(heap.load(static_cast<std::uint64_t*>(block)), pattern(Rank{rank}, 0, i));
    }
  }
  h.barrier();
  const int next = (h.me() + 1) % h.size();
  for (std::size_t i = 0; i < kBlocks; ++i) {
    EXPECT_OK(heap.free(heap.load(table + static_cast<std::size_t>(next) * kBlocks + i)));
  }
  h.barrier();
}

// Blocks are used again; between nodes, not before what was written to them is everywhere.
HEAP_TEST(Heap, FreedBlocksAreUsedAgain) {
  SmallHeap h(g);
  SharedHeap& heap = h.heap();
  const std::size_t most = heap.bytes() / static_cast<std::size_t>(h.size()) / kPage * kPage;
  for (std::uint64_t round = 1; round <= 6; ++round) {
    auto block = heap.allocate(most);
    for (int tries = 0; tries < 3; ++tries) {
      h.barrier();
      if (!block.ok()) block = heap.allocate(most);
    }
    ASSERT_TRUE(block.ok()) << block.status().to_string();
    auto* const words = static_cast<std::uint64_t*>(*block);
    const auto mine = pattern(g.rank(), round, 0);
    heap.store(words, mine);
    h.lock(0);
    h.unlock(0);
    EXPECT_EQ(heap.load(words), mine);
    h.barrier();
    EXPECT_EQ(heap.load(words), mine);
    heap.store(words + 1, mine);  // not released when it is freed
    EXPECT_OK(heap.free(*block));
    // On one node another rank may have it by now.
    if (g.node_count() > 1 || h.size() == 1) {
      EXPECT_EQ(heap.free(*block).code(), Code::invalid_argument) << "freed twice";
    }
  }
  h.barrier();
}

// A heap that cannot be made leaves nothing behind, and the next one can be.
HEAP_TEST(Heap, AnOpenThatFailsCanBeTriedAgain) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(g.open_shared_heap({.bytes = std::size_t{1} << 60}).status().code(), Code::invalid_argument);
    if (g.size() > 1) {
      const SharedHeapOptions different{.bytes = std::size_t{1 + index(g.rank())} << 20};
      EXPECT_EQ(g.open_shared_heap(different).status().code(), Code::invalid_argument);
    }
  }
  SmallHeap h(g);
  h.barrier();
}

HEAP_TEST(Heap, MistakesAreNamed) {
  SmallHeap h(g);
  SharedHeap& heap = h.heap();
  EXPECT_EQ(g.open_shared_heap({.bytes = 1 << 20}).status().code(), Code::invalid_argument);
  EXPECT_EQ(heap.allocate(0).status().code(), Code::invalid_argument);
  EXPECT_EQ(heap.allocate(heap.bytes() + 1).status().code(), Code::no_memory);
  EXPECT_EQ(heap.allocate(SIZE_MAX).status().code(), Code::no_memory);
  EXPECT_EQ(heap.lock(-1).code(), Code::invalid_argument);
  EXPECT_EQ(heap.lock(16).message(), "lock 16 of the shared heap: it has the locks 0..15");
  EXPECT_EQ(heap.unlock(3).code(), Code::invalid_argument);
  int outside = 0;
  EXPECT_EQ(heap.free(&outside).code(), Code::invalid_argument);
  EXPECT_EQ(heap.touch(&outside, 4, false).code(), Code::invalid_argument);
  const auto block = heap.allocate(100);
  ASSERT_TRUE(block.ok());
  EXPECT_OK(heap.free(*block));
  EXPECT_EQ(heap.free(*block).code(), Code::invalid_argument) << "freed twice";
  h.barrier();
  EXPECT_EQ(SharedHeap().barrier().code(), Code::invalid_argument);
}

// A fault there would ask for the client that the transfer holds.
HEAP_TEST(Heap, IsNoLocalBufferOfATransferBetweenNodes) {
  SmallHeap h(g);
  const auto memory = g.allocate(256);
  ASSERT_TRUE(memory.ok());
  const Rank last{h.size() - 1};
  const bool away = !g.same_node(last);
  auto* const here = h.at<std::byte>(100);
  auto* const there = static_cast<std::byte*>(memory->on(last)) + 8 * h.me();  // of this rank alone
  std::byte outside[64] = {};
  Strided two = Strided::contiguous(8);
  two.levels = 1;
  two.count[1] = 2;
  two.stride[0] = 128;
  if (away) {
    EXPECT_CODE(Code::invalid_argument, g.put(here, there, 8, last));
    EXPECT_CODE(Code::invalid_argument, g.get(memory->on(last), here, 8, last));
    EXPECT_CODE(Code::invalid_argument, g.start_put(here, memory->on(last), 8, last));
    EXPECT_CODE(Code::invalid_argument, g.put(here - 128, two, memory->on(last), two, last));
    EXPECT_OK(g.put(outside, there, 8, last));
  } else if (world_has_page_tables()) {  // else nothing is mapped there
    EXPECT_OK(g.put(here, there, 8, last));
  }
  h.barrier();
  EXPECT_OK(g.free(*memory));
}

HEAP_TEST(Heap, TryLockAnswersWhetherItWasFree) {
  SmallHeap h(g);
  if (h.me() == 0) {
    h.lock(5);
    h.set(0, 42);
  }
  h.barrier();
  if (h.me() == h.size() - 1 && h.size() > 1) {
    const auto got = h.heap().try_lock(5);
    ASSERT_TRUE(got.ok());
    EXPECT_FALSE(*got);
  }
  h.barrier();
  if (h.me() == 0) {
    h.set(0, 43);
    h.unlock(5);
  }
  EXPECT_OK(g.barrier());
  if (h.me() == h.size() - 1) {
    // The lock may be on its way still: a barrier does not wait for it.
    auto got = h.heap().try_lock(5);
    while (got.ok() && !*got) {
      static_cast<void>(h.get(5 * kPage));  // a simulated rank that does nothing else would never give way
      got = h.heap().try_lock(5);
    }
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(h.get(0), 43U);
    h.unlock(5);
  }
  h.barrier();
}

// docs/dsm.md's table of costs, exactly.
WORLD_TEST_ALONE_ON(HeapCounts, AMissIsOneFaultAndOneFetch, shapes_from(2)) {
  SmallHeap h(g);
  if (h.me() == 0) h.set(0, 1);
  h.barrier();
  const bool elsewhere = !g.same_node(Rank{0});
  // One rank of each other node looks.
  bool first = elsewhere;
  for (int rank = 0; rank < h.me(); ++rank) first = first && g.node_of(Rank{rank}) != g.node();
  const SharedHeapCounts before = h.heap().counts();
  if (first) {
    EXPECT_EQ(h.get(0), 1U);
  }
  const SharedHeapCounts after = h.heap().counts();
  EXPECT_EQ(after.faults - before.faults, first ? 1U : 0U);
  EXPECT_EQ(after.fetches - before.fetches, first ? 1U : 0U);
  EXPECT_LE(after.home_questions - before.home_questions, first ? 1U : 0U);
  h.barrier();
}

WORLD_TEST_ALONE_ON(HeapCounts, PagesInSequenceAreReadAhead, shapes_from(2)) {
  SmallHeap h(g);
  constexpr std::size_t kPages = 256;
  if (h.me() == 0) {
    for (std::size_t i = 0; i < kPages; ++i) h.set(i * kPage, i);
  }
  h.barrier();
  const SharedHeapCounts before = h.heap().counts();
  const bool looks = h.me() == h.size() - 1 && !g.same_node(Rank{0});
  if (looks) {
    for (std::size_t i = 0; i < kPages; ++i) ASSERT_EQ(h.get(i * kPage), i);
  }
  const SharedHeapCounts after = h.heap().counts();
  if (looks) {
    EXPECT_EQ(after.fetched_pages - before.fetched_pages, kPages);
    EXPECT_LE(after.fetches - before.fetches, 22U);
    EXPECT_LE(after.home_questions - before.home_questions, 4U);
  }
  h.barrier();
}

// Home pages that no other node has: no fault after the first touch, no diff, no name.
WORLD_TEST_ALONE(HeapCounts, WhatOnlyTheHomeUsesCostsNothing) {
  SmallHeap h(g);
  const std::size_t mine = static_cast<std::size_t>(h.me()) * 16 * kPage;
  for (std::size_t i = 0; i < 16; ++i) h.set(mine + i * kPage, i);
  h.barrier();
  const SharedHeapCounts before = h.heap().counts();
  for (std::uint64_t round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < 16; ++i) h.set(mine + i * kPage, i + round);
    h.barrier();
  }
  const SharedHeapCounts after = h.heap().counts();
  EXPECT_EQ(after.faults, before.faults);
  EXPECT_EQ(after.diffs, before.diffs);
  EXPECT_EQ(after.intervals, before.intervals);
  EXPECT_EQ(after.notice_questions, before.notice_questions);
  if (g.node_count() == 1) {
    EXPECT_EQ(after.faults, 0U);
  }
}

// A release sends its diffs in ⌈bytes / 64 KiB⌉ messages to each home.
WORLD_TEST_ALONE_ON(HeapCounts, AReleaseIsOneMessagePerHome, shapes_from(2)) {
  SmallHeap h(g);
  if (h.me() == 0) {
    for (std::size_t i = 0; i < 8; ++i) h.set(i * kPage, 1);
  }
  h.barrier();
  const SharedHeapCounts before = h.heap().counts();
  const bool writes = h.me() == h.size() - 1 && !g.same_node(Rank{0});
  if (writes) {
    h.lock(0);
    for (std::size_t i = 0; i < 8; ++i) h.set(i * kPage + 8, 5);
    h.unlock(0);
  }
  const SharedHeapCounts after = h.heap().counts();
  EXPECT_EQ(after.diffs - before.diffs, writes ? 8U : 0U);
  EXPECT_EQ(after.diff_messages - before.diff_messages, writes ? 1U : 0U);
  EXPECT_EQ(after.acknowledgements - before.acknowledgements, writes ? 1U : 0U);
  EXPECT_EQ(after.diff_bytes - before.diff_bytes, writes ? 8U * 17U : 0U);
  h.barrier();
}

// A barrier without writes has the messages of a barrier of `Runtime`, and asks for nothing; so does a lock.
WORLD_TEST_ALONE(HeapCounts, NothingWrittenIsNothingSent) {
  SmallHeap h(g);
  h.set(static_cast<std::size_t>(h.me()) * 64 * kPage, 1);
  for (int i = 0; i < 4; ++i) h.barrier();
  const SharedHeapCounts before = h.heap().counts();
  const std::uint64_t start = wire_messages(g, "barrier");
  for (int i = 0; i < 5; ++i) h.barrier();
  const std::uint64_t of_heap = wire_messages(g, "barrier") - start;
  for (int i = 0; i < 5; ++i) ASSERT_OK(g.barrier());
  const std::uint64_t of_runtime = wire_messages(g, "barrier") - start - of_heap;
  EXPECT_EQ(of_heap, of_runtime);
  for (int i = 0; i < 5; ++i) {
    h.lock(2);
    h.unlock(2);
  }
  const SharedHeapCounts after = h.heap().counts();
  EXPECT_EQ(after.faults, before.faults);
  EXPECT_EQ(after.intervals, before.intervals);
  EXPECT_EQ(after.home_questions + after.notice_questions, before.home_questions + before.notice_questions);
  EXPECT_EQ(after.diff_messages, before.diff_messages);
  h.barrier();
}

// Rows of whole pages, their edges read by the neighbours: from the eighth barrier on no diffs, and a node asks once
// for each neighbour's edge.
WORLD_TEST_ALONE(HeapCounts, NeighboursEdgesAreOneFetchEach) {
  SmallHeap h(g);
  constexpr std::size_t kRows = 4;
  const auto me = static_cast<std::size_t>(h.me()), size = static_cast<std::size_t>(h.size());
  const auto row = [](std::size_t rank, std::size_t i) { return (rank * kRows + i) * kPage; };
  SharedHeapCounts before;
  constexpr int kRounds = 12, kSettled = 8;
  for (int round = 0; round < kRounds; ++round) {
    if (round == kSettled) before = h.heap().counts();
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t word = 0; word < 512; word += 64)
        h.set(row(me, i) + 8 * word, pattern(g.rank(), static_cast<std::uint64_t>(round), i));
    }
    h.barrier();
    if (me > 0) {
      EXPECT_EQ(h.get(row(me - 1, kRows - 1)), pattern(Rank{h.me() - 1}, static_cast<std::uint64_t>(round), kRows - 1));
    }
    if (me + 1 < size) {
      EXPECT_EQ(h.get(row(me + 1, 0)), pattern(Rank{h.me() + 1}, static_cast<std::uint64_t>(round), 0));
    }
    h.barrier();
  }
  const SharedHeapCounts after = h.heap().counts();
  EXPECT_EQ(after.diffs, before.diffs);
  EXPECT_LE(after.fetches - before.fetches, 2U * (kRounds - kSettled));
  h.barrier();
}

// A write of what was there before is a fault, a look and a name, and no diff.
WORLD_TEST_ALONE_ON(HeapCounts, AWriteThatChangesNothingIsAnEmptyDiff, shapes_from(2)) {
  SmallHeap h(g);
  if (h.me() == 0) h.set(0, 1);
  h.barrier();
  const bool writes = h.me() == h.size() - 1 && !g.same_node(Rank{0});
  const SharedHeapCounts before = h.heap().counts();
  if (writes) {
    h.lock(0);
    h.set(0, 1);
    h.unlock(0);
  }
  const SharedHeapCounts after = h.heap().counts();
  const std::uint64_t one = writes ? 1 : 0;
  EXPECT_EQ(after.write_faults - before.write_faults, one);
  EXPECT_EQ(after.faults - before.faults, one);
  EXPECT_EQ(after.scans - before.scans, one);
  EXPECT_EQ(after.scanned_pages - before.scanned_pages, one);
  EXPECT_EQ(after.written_pages - before.written_pages, one);
  EXPECT_EQ(after.empty_diffs - before.empty_diffs, one);
  EXPECT_EQ(after.diffs, before.diffs);
  EXPECT_EQ(after.notices_sent - before.notices_sent, one);
  EXPECT_EQ(after.foreign_faults, before.foreign_faults);
  const SharedHeapTimes& then = before.times;
  const SharedHeapTimes& now = after.times;
  EXPECT_EQ(now.wire_ns > then.wire_ns, writes);
  EXPECT_EQ(now.lock_ns > then.lock_ns, writes);
  EXPECT_GE(now.trap_ns - then.trap_ns, now.wire_ns - then.wire_ns + now.merge_ns - then.merge_ns);
  EXPECT_GT(now.barrier_ns, 0U);
  h.barrier();
}

// With mprotect: signals before the first three releases, and none later, nor names where the page is as it was. Once
// eight releases in a row have found it so, it is named once more, and faults again.
WORLD_TEST_ALONE_ON(HeapCounts, APageThatIsWrittenBeforeEachReleaseFaultsThreeTimes, shapes_from(2)) {
  g.implementation().config.change<dsm::Settings>().trap = dsm::TrapKind::mprotect;
  SmallHeap h(g);
  constexpr std::size_t kOther = 20 * kPage;
  if (h.me() == 0) {
    h.set(0, 100);
    h.set(kOther, 100);
  }
  h.barrier();
  const bool writes = h.me() == h.size() - 1 && !g.same_node(Rank{0});
  const std::uint64_t one = writes ? 1 : 0;
  const auto release_after_write = [&](std::size_t offset, std::uint64_t value) {
    if (!writes) return;
    h.lock(0);
    h.set(offset, value);
    h.unlock(0);
  };
  const SharedHeapCounts before = h.heap().counts();
  for (std::uint64_t round = 1; round <= 10; ++round) release_after_write(0, round);
  const SharedHeapCounts steady = h.heap().counts();
  EXPECT_EQ(steady.faults - before.faults, one * (world_has_page_tables() ? 3 : 1));
  EXPECT_EQ(steady.diffs - before.diffs, one * 10);
  EXPECT_EQ(steady.notices_sent - before.notices_sent, one * 10);
  for (std::uint64_t round = 1; round <= 3; ++round) release_after_write(kOther, round);
  release_after_write(0, 20);
  const SharedHeapCounts again = h.heap().counts();
  EXPECT_EQ(again.diffs - steady.diffs, one * 4);
  EXPECT_EQ(again.notices_sent - steady.notices_sent, one * 4);
  EXPECT_EQ(again.faults - steady.faults, one * (world_has_page_tables() ? 3 : 1)) << "all of the other page";
  for (std::uint64_t round = 11; round <= 18; ++round) release_after_write(kOther, round);
  const SharedHeapCounts stopped = h.heap().counts();
  EXPECT_EQ(stopped.diffs - again.diffs, one * 8);
  EXPECT_EQ(stopped.notices_sent - again.notices_sent, one * 9);
  release_after_write(0, 11);
  const SharedHeapCounts after = h.heap().counts();
  EXPECT_EQ(after.faults - stopped.faults, one * (world_has_page_tables() ? 1 : 0));
  EXPECT_EQ(after.diffs - stopped.diffs, one);
  h.barrier();
  EXPECT_EQ(h.get(0), g.node_count() > 1 ? 11U : 100U);
}

// A page that this rank has written, and not released, becomes stale and is fetched again.
WORLD_TEST_ALONE_ON(HeapCounts, AFetchIntoWhatWasWrittenIsAMerge, shapes_from(2)) {
  SmallHeap h(g);
  if (h.me() == 0) h.set(0, 1);
  h.barrier();
  const bool writes = h.me() == h.size() - 1 && !g.same_node(Rank{0});
  if (writes) {
    EXPECT_EQ(h.get(0), 1U);
  }
  h.barrier();
  const SharedHeapCounts before = h.heap().counts();
  if (writes) h.set(16, 7);
  ASSERT_OK(g.barrier());
  if (h.me() == 0) {
    h.lock(1);
    h.set(8, 5);
    h.unlock(1);
  }
  ASSERT_OK(g.barrier());
  if (writes) {
    h.lock(1);
    EXPECT_EQ(h.get(8), 5U);
    EXPECT_EQ(h.get(16), 7U);
    const SharedHeapCounts after = h.heap().counts();
    EXPECT_EQ(after.merges_with_writes - before.merges_with_writes, 1U);
    EXPECT_EQ(after.notices_received - before.notices_received, 1U);
    EXPECT_EQ(after.unmapped_pages - before.unmapped_pages, 1U);
    h.unlock(1);
  }
  h.barrier();
}

}  // namespace grapnel::test
