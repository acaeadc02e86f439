// SPDX-License-Identifier: Apache-2.0
#include "scenarios/heap_costs.hpp"

#include <cstring>
#include <span>

#include "pairs.hpp"
#include "scenarios/dsm_use.hpp"

namespace grapnel::bench {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPageWords = kPageBytes / sizeof(std::uint64_t);
constexpr std::uint64_t kPages = 32;
constexpr int kLockOfRank0 = 0, kLockOfRank1 = 1;  // at home by their number

/// Pages at home in rank 0, and what rank 1 has measured with them.
class Costs {
 public:
  Costs(Session& s, const HeapWork& work) : s_(s), work_(work), me_(index(s.g.rank())), heap_(*s.heap) {
    words_ = std::span(static_cast<volatile std::uint64_t*>(s.heap_block), kPages * kPageWords);
  }

  std::uint64_t measure() {
    switch (work_.cost) {
      case HeapCost::page: return pages();
      case HeapCost::diff: return diffs();
      case HeapCost::lock: return locks();
      case HeapCost::barrier: return barriers();
    }
    return 0;
  }

 private:
  void gather() { s_.board.gather(static_cast<std::uint32_t>(s_.g.size()), 0); }

  // As often as there are pages, since a barrier makes them stale.
  std::uint64_t pages() {
    std::uint64_t time_ns = 0;
    for (std::uint64_t done = 0; done < work_.operations; done += kPages) {
      for (std::uint64_t page = 0; page < kPages && me_ == 0; ++page) words_[page * kPageWords] = ++written_;
      must(heap_.barrier());
      if (me_ == 1) time_ns += read_all();
      must(heap_.barrier());
    }
    return time_ns / work_.operations;
  }

  std::uint64_t read_all() {
    const std::uint64_t begin_ns = now_ns();
    for (std::uint64_t page = 0; page < kPages; ++page) sum_ += words_[page * kPageWords];
    return now_ns() - begin_ns;
  }

  std::uint64_t diffs() {
    std::uint64_t time_ns = 0;
    if (me_ == 1) static_cast<void>(words_[0] + 0);
    const SharedHeapCounts before = heap_.counts();
    for (std::uint64_t done = 0; done < work_.operations && me_ == 1; ++done) {
      must(heap_.lock(kLockOfRank1));
      for (std::uint64_t word = 0; word < work_.words; ++word) words_[word] = words_[word] + 1;
      const std::uint64_t begin_ns = now_ns();
      must(heap_.unlock(kLockOfRank1));
      time_ns += now_ns() - begin_ns;
    }
    if (me_ == 1) expect_read(since(heap_, before).diffs, work_.operations);
    gather();
    return time_ns / work_.operations;
  }

  std::uint64_t locks() {
    std::uint64_t time_ns = 0;
    for (std::uint64_t done = 0; done < work_.operations && me_ == 1; ++done) {
      const std::uint64_t begin_ns = now_ns();
      must(heap_.lock(kLockOfRank0));
      time_ns += now_ns() - begin_ns;
      must(heap_.unlock(kLockOfRank0));
    }
    gather();
    return time_ns / work_.operations;
  }

  std::uint64_t barriers() {
    const std::uint64_t begin_ns = now_ns();
    for (std::uint64_t done = 0; done < work_.operations; ++done) must(heap_.barrier());
    return (now_ns() - begin_ns) / work_.operations;
  }

  Session& s_;
  const HeapWork work_;
  const std::size_t me_;
  SharedHeap& heap_;
  std::span<volatile std::uint64_t> words_;
  std::uint64_t written_ = 0, sum_ = 0;
};

// Rank 0 allocates and touches first, so that the pages are at home there.
void open_heap(Session& s) {
  auto opened = s.g.open_shared_heap({.bytes = 16 << 20});
  if (!opened) fail(opened.status());
  s.heap = *opened;
  std::uint64_t address = 0;
  if (index(s.g.rank()) == 0) {
    const auto block = s.heap->allocate(kPages * kPageBytes);
    if (!block) fail(block.status());
    std::memset(*block, 1, kPages * kPageBytes);
    address = reinterpret_cast<std::uint64_t>(*block);
  }
  must(s.g.broadcast(&address, sizeof address, Rank{0}));
  s.heap_block = reinterpret_cast<void*>(address);
  must(s.heap->barrier());
}

// What the time is that one rank has measured.
std::uint64_t of_rank(Session& s, std::uint64_t mine_ns, std::size_t rank) {
  must(s.g.broadcast(&mine_ns, sizeof mine_ns, Rank{static_cast<int>(rank)}));
  return mine_ns;
}

}  // namespace

void HeapWork::store(SharedPage& board) const {
  std::uint64_t* const argument = board.page().argument;
  argument[0] = static_cast<std::uint64_t>(cost);
  argument[1] = words;
  argument[2] = operations;
}

HeapWork HeapWork::load(SharedPage& board) {
  const std::uint64_t* const argument = board.page().argument;
  return {static_cast<HeapCost>(argument[0]), argument[1], argument[2]};
}

std::uint64_t do_heap_work(Session& s) {
  const HeapWork work = HeapWork::load(s.board);
  if (!s.heap) open_heap(s);
  must(s.g.barrier());
  const std::uint64_t time_ns = Costs(s, work).measure();
  return of_rank(s, time_ns, work.cost == HeapCost::barrier ? 0 : 1);
}

}  // namespace grapnel::bench
