// Signals, messages and diffs of the shared heap, exactly: what docs/dsm.md promises.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "pairs.hpp"
#include "scenarios/dsm_use.hpp"
#include "scenarios/fault_signals.hpp"

namespace grapnel::bench {
namespace {

constexpr std::size_t kDiffMessageBytes = 64 * 1024;
constexpr std::uint64_t kMoment_ns = 10'000'000;  // for a message to arrive that no rank waits for

bool is_rank(const Session& s, std::size_t rank) { return index(s.g.rank()) == rank; }

std::uint64_t value_of(std::size_t page) { return 0x0123456789abcdef + page; }

// The pages are at home with rank 1's node afterwards, and all other nodes know that they were written.
void write_at_home(Session& s, const HeapPages& pages, std::size_t count) {
  for (std::size_t i = 0; i < count && is_rank(s, 1); ++i) pages.word(i) = value_of(i);
  must(s.heap_use->heap.barrier());
}

std::uint64_t barrier_messages(Session& s) {
  for (const OperationCount& row : s.g.operation_counts()) {
    if (row.operation == "barrier") return row.wire_messages;
  }
  return 0;
}

}  // namespace

// The homes of a block of pages are known after a first miss in it.
DsmNumbers count_miss(Session& s, const DsmWork&) {
  const HeapPages pages = fresh_pages(s, 16);
  write_at_home(s, pages, 16);
  DsmNumbers numbers{};
  alone(s, Rank{0}, [&] {
    const SharedHeap& heap = s.heap_use->heap;
    expect_read(pages.word(0), value_of(0));
    const SharedHeapCounts before = heap.counts();
    const FaultSignals signals;
    expect_read(pages.word(7), value_of(7));
    numbers[kSignals] = static_cast<double>(signals.count());
    numbers[kWireMessages] = messages_of(since(heap, before));
  });
  return numbers;
}

DsmNumbers count_sequence(Session& s, const DsmWork& work) {
  const HeapPages pages = fresh_pages_kept_by_1(s, work.pages);
  write_at_home(s, pages, work.pages);
  DsmNumbers numbers{};
  alone(s, Rank{0}, [&] {
    const SharedHeap& heap = s.heap_use->heap;
    const SharedHeapCounts before = heap.counts();
    for (std::size_t i = 0; i < work.pages; ++i) expect_read(pages.word(i), value_of(i));
    const SharedHeapCounts grown = since(heap, before);
    numbers[kFetches] = static_cast<double>(grown.fetches);
    numbers[kHomeQuestions] = static_cast<double>(grown.home_questions);
  });
  return numbers;
}

DsmNumbers count_first_write(Session& s, const DsmWork& work) {
  const HeapPages pages = fresh_pages(s, work.pages);
  write_at_home(s, pages, work.pages);
  DsmNumbers numbers{};
  alone(s, Rank{0}, [&] {
    for (std::size_t i = 0; i < work.pages; ++i) expect_read(pages.word(i), value_of(i));
    const FaultSignals signals;
    for (std::size_t i = 0; i < work.pages; ++i) pages.word(i, 1) = i + 1;
    numbers[kSignals] = static_cast<double>(signals.count()) / static_cast<double>(work.pages);
  });
  must(s.heap_use->heap.barrier());
  for (std::size_t i = 0; i < work.pages && is_rank(s, 1); ++i) expect_read(pages.word(i, 1), i + 1);
  return numbers;
}

DsmNumbers count_release(Session& s, const DsmWork& work) {
  SharedHeap& heap = s.heap_use->heap;
  const auto homes = static_cast<std::size_t>(s.g.size()) - 1;
  const std::size_t count = homes * work.pages, me = index(s.g.rank());
  const HeapPages pages = fresh_pages(s, count);
  for (std::size_t i = 0; i < work.pages && me > 0; ++i) pages.word((me - 1) * work.pages + i) = 1;
  must(heap.barrier());
  DsmNumbers numbers{};
  alone(s, Rank{0}, [&] {
    must(heap.lock(0));
    for (std::size_t i = 0; i < count; ++i) std::fill_n(pages.at(i), kHeapPageBytes, std::byte{0x5a});
    const SharedHeapCounts before = heap.counts();
    must(heap.unlock(0));
    const SharedHeapCounts grown = since(heap, before);
    const double bytes = static_cast<double>(grown.diff_bytes) / static_cast<double>(homes);
    numbers[kDiffMessages] = static_cast<double>(grown.diff_messages);
    numbers[kLeastMessages] = static_cast<double>(homes) * std::ceil(bytes / kDiffMessageBytes);
    numbers[kAcknowledgements] = static_cast<double>(grown.acknowledgements);
    numbers[kHomes] = static_cast<double>(homes);
  });
  must(heap.barrier());
  for (std::size_t i = 0; i < work.pages && me > 0; ++i) {
    expect_read(pages.word((me - 1) * work.pages + i), 0x5a5a5a5a5a5a5a5a);
  }
  return numbers;
}

DsmNumbers count_barrier(Session& s, const DsmWork&) {
  constexpr int kBarriers = 10;
  SharedHeap& heap = s.heap_use->heap;
  for (int i = 0; i < 4; ++i) must(heap.barrier());  // what was written before is known everywhere
  const SharedHeapCounts before = heap.counts();
  const std::uint64_t start = barrier_messages(s);
  for (int i = 0; i < kBarriers; ++i) must(heap.barrier());
  const std::uint64_t of_heap = barrier_messages(s) - start;
  const double others = messages_of(since(heap, before));
  for (int i = 0; i < kBarriers; ++i) must(s.g.barrier());
  const std::uint64_t of_runtime = barrier_messages(s) - start - of_heap;
  DsmNumbers numbers{};
  numbers[kOfHeap] = (static_cast<double>(of_heap) + others) / kBarriers;
  numbers[kOfRuntime] = static_cast<double>(of_runtime) / kBarriers;
  return sum_of_numbers(s, numbers);
}

// A rank cannot count while it waits for the lock, but what it sends is known: its request for a place in the queue.
// The home's server answers that, and links it to the rank before it. All others count between that and the end.
DsmNumbers count_hand_off(Session& s, const DsmWork&) {
  SharedHeap& heap = s.heap_use->heap;
  for (int i = 0; i < 2; ++i) {  // the first use makes connections
    for (const std::size_t rank : {1U, 2U}) {
      if (is_rank(s, rank)) must(heap.lock(0));
      if (is_rank(s, rank)) must(heap.unlock(0));
      must(heap.barrier());
    }
  }
  if (is_rank(s, 1)) must(heap.lock(0));
  must(heap.barrier());
  SharedHeapCounts before;
  if (is_rank(s, 2)) {
    before = heap.counts();
    must(heap.lock(0));
  } else {
    sleep_until_ns(now_ns() + 2 * kMoment_ns);  // rank 2 waits in the queue
    before = heap.counts();
    sleep_until_ns(now_ns() + kMoment_ns);  // all have counted
    if (is_rank(s, 1)) must(heap.unlock(0));
  }
  sleep_until_ns(now_ns() + 2 * kMoment_ns);
  const SharedHeapCounts grown = since(heap, before);
  must(heap.barrier());
  if (is_rank(s, 2)) must(heap.unlock(0));
  constexpr double kOfTheWaiter = 1;
  DsmNumbers numbers{};
  numbers[kHandOffMessages] = static_cast<double>(grown.lock_messages) + messages_of(grown);
  if (is_rank(s, 2)) numbers[kHandOffMessages] -= kOfTheWaiter;
  return sum_of_numbers(s, numbers);
}

DsmNumbers count_home(Session& s, const DsmWork& work) {
  SharedHeap& heap = s.heap_use->heap;
  const HeapPages pages = fresh_pages(s, work.pages * static_cast<std::size_t>(s.g.size()));
  const std::size_t first = work.pages * index(s.g.rank());
  const auto write = [&](std::uint64_t value) {
    for (std::size_t i = 0; i < work.pages; ++i) pages.word(first + i) = value;
    must(heap.barrier());
  };
  write(1);
  const SharedHeapCounts before = heap.counts();
  const FaultSignals signals;
  for (std::uint64_t round = 2; round < 10; ++round) write(round);
  const SharedHeapCounts grown = since(heap, before);
  DsmNumbers numbers{};
  numbers[kSignals] = static_cast<double>(signals.count());
  numbers[kWireMessages] = messages_of(grown);
  numbers[kDiffs] = static_cast<double>(grown.diffs);
  numbers[kIntervals] = static_cast<double>(grown.intervals);
  return sum_of_numbers(s, numbers);
}

}  // namespace grapnel::bench
