// Homes: named beforehand, moved in barriers to the only node that writes; and pages that are fetched beforehand.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "base/codec.hpp"
#include "dsm/small_heap.hpp"

namespace grapnel::test {
namespace {

/// What a count is in all ranks, and in all ranks of each node.
struct Sums {
  std::uint64_t all = 0;
  std::vector<std::uint64_t> by_node;
};
Sums sums_of(Runtime& g, std::uint64_t mine) {
  Sums sums;
  sums.by_node.resize(static_cast<std::size_t>(g.node_count()));
  const auto counts = g.allgather(g.world(), base::bytes_of(mine));
  EXPECT_TRUE(counts.ok());
  for (std::size_t rank = 0; counts.ok() && rank < counts->size(); ++rank) {
    const auto count = base::Decoder((*counts)[rank]).get<std::uint64_t>().value_or(0);
    sums.all += count;
    sums.by_node[index(g.node_of(Rank{static_cast<int>(rank)}))] += count;
  }
  return sums;
}

/// Ranks on other nodes than rank 0.
std::size_t ranks_elsewhere(const Runtime& g) {
  std::size_t count = 0;
  for (int rank = 0; rank < g.size(); ++rank) count += g.node_of(Rank{rank}) != g.node_of(Rank{0});
  return count;
}

}  // namespace

// A page that rank 0 had first: others write a word of it, one after the other for some barriers each, while all read
// another one.
WORLD_TEST_ALONE(Litmus, AMoveWhileOthersRead) {
  SmallHeap h(g);
  constexpr std::uint64_t kRounds = 6;
  if (h.me() == 0) h.set(8, 77);
  h.barrier();
  std::uint64_t written = 0;
  for (int writer = h.size() - 1; writer >= 0; --writer) {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      ++written;
      if (h.me() == writer) h.set(0, written);
      ASSERT_EQ(h.get(8), 77U);
      h.barrier();
      ASSERT_EQ(h.get(0), written) << "writer " << writer;
      if (round % 2 == 0) h.barrier();
      ASSERT_EQ(h.get(8), 77U);
      if (round % 2 == 1) h.barrier();
    }
  }
  const std::uint64_t moves = sums_of(g, h.heap().counts().moves).all;
  if (g.node_count() > 1) {
    EXPECT_GT(moves, 0U);
  }
  h.barrier();
}

// Two grids that rank 0 initialised, of which each iteration writes one and reads the other's edges: from the eighth
// barrier on the pages are at home where they are written.
WORLD_TEST_ALONE(HeapCounts, HomesMoveToTheOnlyWriter) {
  SmallHeap h(g);
  constexpr std::size_t kRows = 3, kBarriers = 14, kSettled = 8;
  const auto me = static_cast<std::size_t>(h.me()), size = static_cast<std::size_t>(h.size());
  const auto row = [&](std::size_t grid, std::size_t rank, std::size_t i) {
    return ((grid * size + rank) * kRows + i) * kPage;
  };
  if (me == 0) {
    for (std::size_t page = 0; page < 2 * size * kRows; ++page) h.set(page * kPage, 1);
  }
  h.barrier();
  SharedHeapCounts before;
  for (std::size_t done = 1; done < kBarriers; ++done) {
    if (done >= kSettled) before = h.heap().counts();
    const std::size_t from = done % 2, to = 1 - from;
    if (me > 0) {
      ASSERT_EQ(h.get(row(from, me - 1, kRows - 1)), done == 1 ? 1 : done - 1);
    }
    if (me + 1 < size) {
      ASSERT_EQ(h.get(row(from, me + 1, 0)), done == 1 ? 1 : done - 1);
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t word = 0; word < 512; word += 64) h.set(row(to, me, i) + 8 * word, done);
    }
    h.barrier();
    if (done < kSettled) continue;
    const SharedHeapCounts after = h.heap().counts();
    EXPECT_EQ(after.diffs, before.diffs) << "barrier " << done;
    const std::uint64_t requests = after.fetches + after.home_questions + after.notice_questions - before.fetches -
                                   before.home_questions - before.notice_questions;
    for (const std::uint64_t of_node : sums_of(g, requests).by_node) EXPECT_LE(of_node, 2U) << "barrier " << done;
  }
  const Sums moves = sums_of(g, h.heap().counts().moves);
  EXPECT_EQ(moves.all, 2 * kRows * ranks_elsewhere(g));
  EXPECT_EQ(moves.by_node[index(g.node_of(Rank{0}))], 0U);
  h.barrier();
}

// With the option `threads` no home moves.
WORLD_TEST_ALONE(HeapCounts, NothingMovesWhereThreadsWrite) {
  SmallHeap h(g, {.bytes = 1 << 20, .locks = 16, .threads = true});
  if (h.me() == 0) h.set(0, 1);
  h.barrier();
  for (std::uint64_t round = 0; round < 8; ++round) {
    if (h.me() == h.size() - 1) h.set(0, round);
    h.barrier();
    ASSERT_EQ(h.get(0), round);
    h.barrier();
  }
  EXPECT_EQ(h.heap().counts().moves, 0U);
  if (h.size() > 1) {
    const SharedHeapOptions different{.bytes = 1 << 20, .threads = g.rank() == Rank{0}};
    EXPECT_CODE(Code::invalid_argument, g.open_shared_heap(different).status());
  }
}

// Pages are at home where `place` put them: their writers send nothing.
WORLD_TEST_ALONE(HeapCounts, PlaceNamesTheHome) {
  SmallHeap h(g);
  constexpr std::size_t kPages = 5;
  const auto at = [&](int rank) { return static_cast<std::size_t>(rank) * kPages * kPage; };
  if (h.me() == 0) {
    for (int rank = 0; rank < h.size(); ++rank) {
      EXPECT_OK(h.heap().place(h.at<void>(at(rank)), kPages * kPage, Rank{rank}));
      EXPECT_OK(h.heap().place(h.at<void>(at(rank) + 10), 1, Rank{rank}));
    }
  }
  h.barrier();
  const int other = (h.me() + 1) % h.size();
  EXPECT_EQ(h.get(at(other)), 0U) << "a read before its home used it";
  h.barrier();
  for (std::size_t i = 0; i < kPages; ++i) h.set(at(h.me()) + i * kPage, 1 + i);
  h.barrier();
  for (std::size_t i = 0; i < kPages; ++i) EXPECT_EQ(h.get(at(other) + i * kPage), 1 + i);
  EXPECT_EQ(h.heap().counts().diffs, 0U);
  h.barrier();
  if (h.me() != 0) return;
  SharedHeap& heap = h.heap();
  EXPECT_CODE(Code::invalid_argument, heap.place(heap.base(), 8, Rank{h.size()}));
  EXPECT_CODE(Code::invalid_argument, heap.place(heap.base(), heap.bytes() + 1, Rank{0}));
  const Rank last{h.size() - 1}, last_but_one{h.size() - 2};
  if (h.size() == 1) return;
  const bool together = g.node_of(last) == g.node_of(last_but_one);
  const Status placed = heap.place(h.at<void>(at(h.size() - 1) - 2 * kPage), (kPages + 300) * kPage, last);
  if (together) {
    EXPECT_OK(placed);
  } else {
    EXPECT_EQ(placed.code(), Code::invalid_argument);
    EXPECT_EQ(placed.message().find("place: 2 of 305 pages have another home already"), 0U) << placed.message();
  }
}

// 16 pages a message, and no fault after that.
WORLD_TEST_ALONE_ON(HeapCounts, PrefetchFetchesAndMaps, shapes_from(2)) {
  SmallHeap h(g);
  constexpr std::size_t kPages = 256;
  if (h.me() == 0) {
    for (std::size_t i = 0; i < kPages; ++i) h.set(i * kPage, i);
  }
  h.barrier();
  const bool looks = h.me() == h.size() - 1 && !g.same_node(Rank{0});
  for (std::uint64_t round = 0; round < 2; ++round) {
    const SharedHeapCounts before = h.heap().counts();
    if (looks) {
      EXPECT_OK(h.heap().prefetch(h.heap().base(), kPages * kPage));
      for (std::size_t i = 0; i < kPages; ++i) ASSERT_EQ(h.get(i * kPage), i + round);
    }
    const SharedHeapCounts after = h.heap().counts();
    EXPECT_EQ(after.faults - before.faults, 0U);
    EXPECT_EQ(after.fetches - before.fetches, looks ? 16U : 0U);
    EXPECT_EQ(after.fetched_pages - before.fetched_pages, looks ? kPages : 0U);
    h.barrier();
    if (h.me() == 0) {
      for (std::size_t i = 0; i < kPages; ++i) h.set(i * kPage, i + 1);
      EXPECT_OK(h.heap().prefetch(h.heap().base(), kPages * kPage));
    }
    h.barrier();
  }
  EXPECT_CODE(Code::invalid_argument, h.heap().prefetch(h.heap().base(), h.heap().bytes() + 1));
  EXPECT_OK(h.heap().prefetch(h.heap().base(), 0));
  h.barrier();
}

// A second thread of each rank reads what no rank writes any more, while homes move in the first one's barriers.
WORLD_TEST_ALONE(Threads, ReadWhileHomesMove) {
  SmallHeap h(g);
  if (!world_has_page_tables()) return;  // there a rank is one thread
  constexpr std::size_t kPages = 40;
  if (h.me() == 0) {
    for (std::size_t page = 0; page < kPages; ++page) h.set(page * kPage + 8, page);
  }
  h.barrier();
  std::atomic<bool> done{false};
  std::uint64_t wrong = 0;
  std::thread reader([&] {
    for (std::size_t i = 0; !done; ++i) {
      const std::size_t page = i * 7 % kPages;
      if (h.get(page * kPage + 8) != page) ++wrong;
    }
  });
  for (std::uint64_t round = 1; round <= 60; ++round) {
    const auto writer = static_cast<int>(round / 6) % h.size();
    for (std::size_t page = 0; page < kPages && h.me() == writer; ++page) h.set(page * kPage, round);
    h.barrier();
    for (std::size_t page = 0; page < kPages; ++page) ASSERT_EQ(h.get(page * kPage), round);
    h.barrier();
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0U);
  const std::uint64_t moves = sums_of(g, h.heap().counts().moves).all;
  if (g.node_count() > 1) {
    EXPECT_GT(moves, 0U);
  }
  h.barrier();
}

}  // namespace grapnel::test
