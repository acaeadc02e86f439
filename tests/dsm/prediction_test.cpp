// What a rank predicts of its pages saves misses, messages and looks, and costs little where it is wrong.
// SPDX-License-Identifier: Apache-2.0
#include "dsm/page_predictor.hpp"
#include "dsm/small_heap.hpp"

namespace grapnel::test {

// One rank of each node writes a page far from the others', and the last rank reads those of other nodes. What was read
// between the last two barriers comes along with the first miss; what came along and was not read does not come again.
WORLD_TEST_ALONE_ON(HeapCounts, WhatOneAcquireMadeStaleComesAtOnce, shapes_from(2)) {
  SmallHeap h(g);
  std::vector<int> writers;
  for (int rank = 0; rank < h.size(); ++rank) {
    bool first = g.node_of(Rank{rank}) != g.node_of(Rank{h.size() - 1});
    for (int before = 0; before < rank; ++before) first = first && g.node_of(Rank{before}) != g.node_of(Rank{rank});
    if (first) writers.push_back(rank);
  }
  const auto page = [](int writer) { return static_cast<std::size_t>(writer) * 32 * kPage; };
  const bool reads = h.me() == h.size() - 1;
  std::uint64_t round = 0;
  // Reads the pages of the first `count` writers: how many messages and pages that took.
  const auto read_after_writes = [&](std::size_t count) {
    ++round;
    for (const int writer : writers) {
      if (writer == h.me()) h.set(page(writer), round);
    }
    h.barrier();
    const SharedHeapCounts before = h.heap().counts();
    for (std::size_t i = 0; i < count && reads; ++i) EXPECT_EQ(h.get(page(writers[i])), round);
    const SharedHeapCounts after = h.heap().counts();
    EXPECT_EQ(after.faults - before.faults, reads ? count : 0);
    h.barrier();
    return std::pair(after.fetches - before.fetches, after.fetched_pages - before.fetched_pages);
  };
  const std::size_t all = writers.size(), some = std::min<std::size_t>(all, 1);
  read_after_writes(all);
  read_after_writes(all);
  const std::pair<std::uint64_t, std::uint64_t> none{0, 0}, one{some, some}, each{all, all};
  EXPECT_EQ(read_after_writes(all), reads ? each : none);
  EXPECT_EQ(read_after_writes(some), reads ? each : none);
  EXPECT_EQ(read_after_writes(some), reads ? one : none);
}

// Two grids: each interval writes to one and reads the other. Once the home has found its page written soon after each
// serve, it looks at two serves of ten. When it stops writing, what it names all the same is soon over.
WORLD_TEST_ALONE_ON(HeapCounts, AHomeLooksSeldomForWritesThatFollowEachServe, shapes_from(2)) {
  g.implementation().config.change<dsm::Settings>().trap = dsm::TrapKind::mprotect;
  SmallHeap h(g);
  constexpr std::size_t kGrids[2] = {0, 20 * kPage};
  constexpr std::uint64_t kRounds = 120, kQuiet = 30;
  const bool writes = h.me() == 0, reads = h.me() == h.size() - 1;
  if (writes) {
    for (const std::size_t grid : kGrids) h.set(grid, 0);
  }
  h.barrier();
  const SharedHeapCounts before = h.heap().counts();
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    if (reads) {
      EXPECT_EQ(h.get(kGrids[(round + 1) % 2]), round - 1);
    }
    if (writes) h.set(kGrids[round % 2], round);
    h.barrier();
  }
  const SharedHeapCounts written = h.heap().counts();
  const std::uint64_t faults = written.write_faults - before.write_faults;
  if (writes && !g.same_node(Rank{h.size() - 1}) && world_has_page_tables()) {
    EXPECT_GE(faults, 2 * dsm::PagePredictor::kTimes);
    EXPECT_LE(faults, kRounds / 2);
  }
  const std::uint64_t fetched = written.fetched_pages - before.fetched_pages;
  if (reads && !g.same_node(Rank{0})) {
    EXPECT_GE(fetched, kRounds);
    EXPECT_LE(fetched, kRounds + kRounds / 4);  // while nothing is stale, both grids are of one turn
  }
  SharedHeapCounts quiet = written;
  for (std::uint64_t round = 0; round < 2 * kQuiet; ++round) {
    if (round == kQuiet) quiet = h.heap().counts();
    if (reads) {
      EXPECT_EQ(h.get(kGrids[0]), kRounds);
    }
    h.barrier();
  }
  const SharedHeapCounts after = h.heap().counts();
  EXPECT_LE(quiet.fetched_pages - written.fetched_pages, dsm::PagePredictor::kPredicted + 4);
  EXPECT_EQ(after.fetched_pages, quiet.fetched_pages);
  EXPECT_EQ(after.notices_sent, quiet.notices_sent);
}

// Two turns, each with a page of two writers: a miss brings what the same turn used the last time.
WORLD_TEST_ALONE_ON(HeapCounts, PagesOfTheSameTurnComeTogether, shapes_from(3)) {
  SmallHeap h(g);
  const int last = h.size() - 1;
  const auto page = [](int turn, int writer) { return static_cast<std::size_t>(2 * writer + turn) * 32 * kPage; };
  const bool elsewhere = !g.same_node(Rank{0}) && !g.same_node(Rank{1});
  const bool reads = h.me() == last && elsewhere, is_writer = h.me() < 2;
  for (std::uint64_t round = 1; round <= 12; ++round) {
    const int turn = static_cast<int>(round % 2);
    if (is_writer) h.set(page(turn, h.me()), round);
    h.barrier();
    const SharedHeapCounts before = h.heap().counts();
    if (reads) {
      EXPECT_EQ(h.get(page(turn, 0)), round);
    }
    const SharedHeapCounts after = h.heap().counts();
    if (reads && round > 4) {
      EXPECT_EQ(after.fetched_pages - before.fetched_pages, 2U) << "round " << round;
    }
    if (reads) {
      EXPECT_EQ(h.get(page(turn, 1)), round);
    }
    h.barrier();
  }
}

}  // namespace grapnel::test
