// What a miss, a release, a barrier and a lock of the shared heap take, and what they are made of by themselves.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "limits/diff.h"
#include "limits/raw_ucx.h"
#include "limits/trap.h"
#include "pairs.hpp"
#include "scenarios/dsm_use.hpp"

namespace grapnel::bench {
namespace {

// Accesses of one turn, of which the first are not timed: servers have to wake up.
constexpr std::size_t kAccesses = 40, kWarm = 8;
// Every second page: none of them is read ahead.
constexpr std::size_t kStep = 2;
constexpr std::size_t kPageWords = kHeapPageBytes / sizeof(std::uint64_t);
constexpr std::size_t kMessageBytes = 64 * 1024;
constexpr int kBarriers = 100;
constexpr std::size_t kHandOffs = 16;
constexpr std::uint64_t kHeld_ns = 300'000;
constexpr std::uint64_t kMillisecond_ns = 1'000'000;

bool is_rank(const Session& s, std::size_t rank) { return index(s.g.rank()) == rank; }

template <typename Access>
double median_time(Access access) {
  std::vector<double> times;
  for (std::size_t i = 0; i < kAccesses; ++i) {
    const std::uint64_t begin_ns = now_ns();
    access(i);
    if (i >= kWarm) times.push_back(static_cast<double>(now_ns() - begin_ns));
  }
  return median(times);
}

// While rank 0 works, rank 1 sleeps on the board, or computes.
template <typename Part>
void beside_home(Session& s, bool busy, Part part) {
  if (is_rank(s, 0) && busy) sleep_until_ns(now_ns() + kMillisecond_ns);
  volatile double x = 1;
  while (busy && is_rank(s, 1) && s.board.page().arrived.load(std::memory_order_acquire) == 0) {
    for (int i = 0; i < 2000; ++i) x = x * 1.0000001 + 1e-9;
  }
  alone(s, Rank{0}, part);
}

// A page of the heap and its equal outside: each turn changes all bytes of the words that it writes.
std::uint64_t next_value() {
  static std::uint64_t turns = 0;
  return (turns++ % 255 + 1) * 0x0101010101010101;
}
void write_words(std::byte* page, std::uint64_t words, std::uint64_t value) {
  auto* const word = reinterpret_cast<volatile std::uint64_t*>(page);
  for (std::size_t i = 0; i < words; ++i) word[i * (kPageWords / words)] = value;
}

double bare_trap(DsmTrap kind) {
  limit_trap* const trap =
      limit_trap_open(kind == DsmTrap::uffd ? LIMIT_TRAP_UFFD : LIMIT_TRAP_MPROTECT, kStep * kAccesses);
  if (trap == nullptr) fail(Status(Code::system, std::string("bare trap: ") + std::strerror(errno)));
  limit_trap_arm(trap);
  const double time_ns = median_time([&](std::size_t i) { limit_trap_touch(trap, kStep * i); });
  const std::size_t faults = limit_trap_disarm(trap);
  limit_trap_close(trap);
  if (faults != kAccesses) fail(Status(Code::system, "the bare trap was not hit at every access"));
  return time_ns;
}

double time_misses(Session& s, const HeapPages& pages, bool busy) {
  const std::uint64_t value = next_value();
  for (std::size_t i = 0; i < kAccesses && is_rank(s, 1); ++i) pages.word(kStep * i) = value + i;
  must(s.heap_use->heap.barrier());
  double time_ns = 0;
  beside_home(s, busy,
              [&] { time_ns = median_time([&](std::size_t i) { expect_read(pages.word(kStep * i), value + i); }); });
  return time_ns;
}

}  // namespace

double time_get_and_trap(Session& s, const DsmWork& work) {
  double time_ns = 0;
  alone(s, Rank{0}, [&] {
    const PageBuffer local(kHeapPageBytes);
    time_ns = bare_trap(work.trap) + median_time([&](std::size_t) {
                must(s.g.get(s.remote(), local.at(0), kHeapPageBytes, Session::kTarget));
              });
  });
  return time_ns;
}

// The heap brings along what it used together with a page in the last eight intervals. Behind so many others each
// access is a miss by itself.
double time_miss(Session& s, const DsmWork& work) {
  constexpr std::size_t kIntervals = 9;
  const HeapPages pages = lasting_pages(s, DsmOperation::miss, kStep * (kAccesses + 1));
  volatile std::uint64_t& other = pages.word(kStep * kAccesses);
  for (std::size_t i = 0; i < kIntervals; ++i) {
    const std::uint64_t value = next_value();
    if (is_rank(s, 1)) other = value;
    must(s.heap_use->heap.barrier());
    if (is_rank(s, 0)) expect_read(other, value);
    must(s.heap_use->heap.barrier());
  }
  return time_misses(s, pages, work.busy);
}

double time_first_miss(Session& s, const DsmWork& work) {
  return time_misses(s, fresh_pages(s, kStep * kAccesses), work.busy);
}

namespace {

// An extent's memory is taken when its first page is used: where `prepared`, by the last page, which is not read then.
double time_sequence(Session& s, std::size_t count, bool prepared) {
  const HeapPages pages = fresh_pages_kept_by_1(s, count);
  for (std::size_t i = 0; i < count && is_rank(s, 1); ++i) pages.word(i) = i + 1;
  must(s.heap_use->heap.barrier());
  double time_ns = 0;
  alone(s, Rank{0}, [&] {
    if (prepared) expect_read(pages.word(count - 1), count);
    if (prepared) --count;
    const std::uint64_t begin_ns = now_ns();
    for (std::size_t i = 0; i < count; ++i) expect_read(pages.word(i), i + 1);
    time_ns = static_cast<double>(now_ns() - begin_ns) / static_cast<double>(count);
  });
  return time_ns;
}

}  // namespace

double time_sequence(Session& s, const DsmWork& work) { return time_sequence(s, work.pages, true); }
double time_first_sequence(Session& s, const DsmWork& work) { return time_sequence(s, work.pages, false); }

double time_diff_and_message(Session& s, const DsmWork& work) {
  constexpr std::uint32_t kNumber = 2;  // of the instance whose segments are those of transport/ucx
  raw_ucx* const raw = s.raw[kNumber - 1];
  limit_diff* const diff = limit_best_diff();
  double time_ns = 0;
  alone(s, Rank{0}, [&] {
    static const PageBuffer pages(work.pages * kHeapPageBytes), twins(work.pages * kHeapPageBytes);
    const PageBuffer message(work.pages * LIMIT_MOST_DIFF_BYTES + kMessageBytes);
    s.board.raw_phase(kNumber);
    raw_ucx_round_trip(raw);
    const std::uint64_t value = next_value();
    for (std::size_t i = 0; i < work.pages; ++i) write_words(pages.at(i * kHeapPageBytes), work.words, value);
    const std::uint64_t begin_ns = now_ns();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < work.pages; ++i) {
      bytes += diff(pages.at(i * kHeapPageBytes), twins.at(i * kHeapPageBytes), message.at(bytes));
    }
    const std::size_t messages = (bytes + kMessageBytes - 1) / kMessageBytes;
    const std::size_t piece = (bytes + messages - 1) / messages;
    raw_ucx_send(raw, message.at(0), piece * messages, piece, 1);
    time_ns = static_cast<double>(now_ns() - begin_ns) / static_cast<double>(work.pages);
    s.board.raw_phase(0);
  });
  return time_ns;
}

double time_release(Session& s, const DsmWork& work) {
  SharedHeap& heap = s.heap_use->heap;
  const HeapPages pages = lasting_pages(s, DsmOperation::release, work.pages);
  if (is_rank(s, 1) && pages.word(0) == 0) {
    for (std::size_t i = 0; i < work.pages; ++i) pages.word(i) = 1;
  }
  must(heap.barrier());
  double time_ns = 0;
  alone(s, Rank{0}, [&] {
    must(heap.lock(0));  // at home here
    const std::uint64_t value = next_value();
    for (std::size_t i = 0; i < work.pages; ++i) write_words(pages.at(i), work.words, value);
    std::uint64_t word = 0;
    must(s.g.get(s.remote(), &word, sizeof word, Session::kTarget));  // the server is awake
    const SharedHeapCounts before = heap.counts();
    const std::uint64_t begin_ns = now_ns();
    must(heap.unlock(0));
    time_ns = static_cast<double>(now_ns() - begin_ns) / static_cast<double>(work.pages);
    expect_read(since(heap, before).diffs, work.pages);
  });
  return time_ns;
}

namespace {

template <typename Barrier>
double time_barriers(Session& s, Barrier barrier) {
  for (int i = 0; i < 8; ++i) barrier();
  const std::uint64_t begin_ns = now_ns();
  for (int i = 0; i < kBarriers; ++i) barrier();
  const double time_ns = static_cast<double>(now_ns() - begin_ns) / kBarriers;
  s.board.gather(static_cast<std::uint32_t>(s.g.size()), 0);
  return time_ns;
}

// The two ranks hold it in turn. The one that waits is asleep when the other, which computes for a while, releases it.
template <typename Lock, typename Unlock>
double time_hand_offs(Session& s, Lock lock, Unlock unlock) {
  const auto ranks = static_cast<std::uint32_t>(s.g.size());
  BoardPage& board = s.board.page();
  std::vector<double> times;
  for (std::size_t i = 0; i < kHandOffs; ++i) {
    const bool holds = is_rank(s, i % 2);
    if (holds) lock();
    s.board.gather(ranks, 0);
    if (holds) {
      const std::uint64_t until_ns = now_ns() + kHeld_ns;
      while (now_ns() < until_ns) {
      }
      board.first_ns.store(now_ns(), std::memory_order_relaxed);  // ordered by the gathering, as the next one is
    } else {
      lock();
      board.last_ns.store(now_ns(), std::memory_order_relaxed);
    }
    unlock();
    s.board.gather(ranks, 0);
    const auto passed_ns = static_cast<std::int64_t>(board.last_ns.load(std::memory_order_relaxed) -
                                                     board.first_ns.load(std::memory_order_relaxed));
    if (i >= kHandOffs / 4) times.push_back(static_cast<double>(passed_ns));
    s.board.gather(ranks, 0);
  }
  return median(times);
}

}  // namespace

double time_runtime_barrier(Session& s, const DsmWork&) {
  return time_barriers(s, [&] { must(s.g.barrier()); });
}

double time_heap_barrier(Session& s, const DsmWork& work) {
  const HeapPages pages = lasting_pages(s, DsmOperation::heap_barrier, work.pages);
  for (std::size_t i = 0; i < work.pages && is_rank(s, 1); ++i) {
    if (pages.word(i) == 0) pages.word(i) = i + 1;
  }
  must(s.heap_use->heap.barrier());
  for (std::size_t i = 0; i < work.pages && is_rank(s, 0); ++i) expect_read(pages.word(i), i + 1);
  return time_barriers(s, [&] { must(s.heap_use->heap.barrier()); });
}

double time_runtime_hand_off(Session& s, const DsmWork&) {
  LockSet& locks = s.heap_use->locks;
  return time_hand_offs(
      s, [&] { must(locks.lock(0, Rank{0})); }, [&] { must(locks.unlock(0, Rank{0})); });
}

double time_heap_hand_off(Session& s, const DsmWork&) {
  SharedHeap& heap = s.heap_use->heap;
  return time_hand_offs(
      s, [&] { must(heap.lock(0)); }, [&] { must(heap.unlock(0)); });
}

}  // namespace grapnel::bench
