// The loops of apps/jacobi and apps/sor, in the shared heap and without it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "jacobi/grid.hpp"
#include "pairs.hpp"
#include "scenarios/dsm_use.hpp"
#include "scenarios/fault_signals.hpp"
#include "sor/grid.hpp"

namespace grapnel::bench {
namespace {

constexpr int kSettled = 8, kBarriers = 24;
constexpr double kOmega = 1.5;

struct Rows {
  std::size_t begin, end;
};

// In consecutive blocks, as the applications have them.
Rows rows_of(const Session& s, std::size_t rank, std::size_t n) {
  const auto size = static_cast<std::size_t>(s.g.size());
  return {n * rank / size, n * (rank + 1) / size};
}
Rows my_rows(const Session& s, std::size_t n) { return rows_of(s, index(s.g.rank()), n); }
Rows inside(Rows rows, std::size_t n) { return {std::max<std::size_t>(rows.begin, 1), std::min(rows.end, n - 1)}; }

std::size_t pages_of(std::size_t doubles) { return (doubles * sizeof(double) + kHeapPageBytes - 1) / kHeapPageBytes; }

// `now` and `next` hold the whole grid, or point to where it would begin.
struct Grids {
  double *now, *next;
};

Grids grids_at(std::byte* memory, std::size_t n) {
  auto* const first = reinterpret_cast<double*>(memory);
  return {first, first + n * n};
}

void fill_rows(const Grids& grids, Rows rows, std::size_t n) {
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    jacobi::fill_row(grids.now + row * n, n, row);
    jacobi::fill_row(grids.next + row * n, n, row);
  }
}

// A number that differs where a bit of the rows does; those of all ranks are added. Modulo kSums, so that a double
// holds it exactly.
constexpr std::uint64_t kSums = std::uint64_t{1} << 48;

double checksum(const double* grid, Rows rows, std::size_t n) {
  std::uint64_t sum = 0;
  for (std::size_t i = rows.begin * n; i < rows.end * n; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(grid[i]);
    sum += (bits ^ bits >> 32) * (2 * i + 1);
  }
  return static_cast<double>(sum % kSums);
}

void store_checksum(Session& s, double mine) {
  const DsmNumbers sum = sum_of_numbers(s, {mine});
  if (index(s.g.rank()) == 0) s.board.page().number[kChecksum] = std::fmod(sum[kChecksum], static_cast<double>(kSums));
}

// The application's loop. `edges` gets what the neighbours wrote, `barrier` ends an iteration.
template <typename Edges, typename Barrier>
double iterate(Session& s, Grids grids, const DsmWork& work, Edges edges, Barrier barrier) {
  const Rows rows = my_rows(s, work.n), mine = inside(rows, work.n);
  barrier();
  const std::uint64_t begin_ns = now_ns();
  for (std::uint64_t done = 0; done < work.iterations; ++done) {
    edges(grids.now);
    jacobi::update_rows(grids.now, grids.next, work.n, mine.begin, mine.end);
    std::swap(grids.now, grids.next);
    barrier();
  }
  barrier();
  const auto time_ns = static_cast<double>(now_ns() - begin_ns);
  store_checksum(s, checksum(grids.now, rows, work.n));
  return time_ns;
}

// Of each rank, made when the operation is done first.
Memory& memory_of(Session& s, DsmOperation operation, std::size_t bytes) {
  auto& memories = s.heap_use->memories;
  const auto found = memories.find(operation);
  if (found != memories.end()) return found->second;
  const auto made = s.g.allocate(bytes);
  if (!made) fail(made.status());
  return memories.emplace(operation, *made).first->second;
}

// What one rank has of the grids: its rows, and one more above and below. The answer points to where row 0 would be.
Grids own_grids(const Session& s, const Memory& memory, std::size_t rank, std::size_t n) {
  const Rows rows = rows_of(s, rank, n);
  const std::size_t length = (rows.end - rows.begin + 2) * n;
  const std::uintptr_t first =
      reinterpret_cast<std::uintptr_t>(memory.on(Rank{static_cast<int>(rank)})) - (rows.begin * n - n) * sizeof(double);
  return {reinterpret_cast<double*>(first), reinterpret_cast<double*>(first + length * sizeof(double))};
}

void get_row(Session& s, const double* from, double* to, std::size_t n, std::size_t rank) {
  must(s.g.get(from, to, n * sizeof(double), Rank{static_cast<int>(rank)}));
}

}  // namespace

double time_jacobi_sequential(Session& s, const DsmWork& work) {
  double seconds = 0;
  double mine = 0;
  alone(s, Rank{0}, [&] {
    const std::vector<double> grid = jacobi::sequential(work.n, work.iterations, seconds);
    mine = checksum(grid.data(), {0, work.n}, work.n);
  });
  store_checksum(s, mine);
  return seconds * 1e9;
}

double time_jacobi_heap(Session& s, const DsmWork& work) {
  SharedHeap& heap = s.heap_use->heap;
  const HeapPages pages = lasting_pages(s, work.operation, pages_of(2 * work.n * work.n));
  const Grids grids = grids_at(pages.at(0), work.n);
  fill_rows(grids, my_rows(s, work.n), work.n);
  return iterate(
      s, grids, work, [](const double*) {}, [&] { must(heap.barrier()); });
}

double time_jacobi_plain(Session& s, const DsmWork& work) {
  const std::size_t bytes = 2 * work.n * work.n * sizeof(double);
  const Memory& memory = memory_of(s, work.operation, index(s.g.rank()) == 0 ? bytes : 0);
  const Grids grids = grids_at(static_cast<std::byte*>(memory.on(Rank{0})), work.n);
  fill_rows(grids, my_rows(s, work.n), work.n);
  return iterate(
      s, grids, work, [](const double*) {}, [&] { must(s.g.barrier()); });
}

double time_jacobi_by_hand(Session& s, const DsmWork& work) {
  const std::size_t n = work.n, me = index(s.g.rank()), last = static_cast<std::size_t>(s.g.size()) - 1;
  const Rows rows = my_rows(s, n);
  const Memory& memory = memory_of(s, work.operation, 2 * (rows.end - rows.begin + 2) * n * sizeof(double));
  const Grids mine = own_grids(s, memory, me, n);
  const Grids above = me > 0 ? own_grids(s, memory, me - 1, n) : mine;
  const Grids below = me < last ? own_grids(s, memory, me + 1, n) : mine;
  fill_rows(mine, rows, n);
  const auto edges = [&](double* now) {
    const auto of = [&](const Grids& theirs) { return now == mine.now ? theirs.now : theirs.next; };
    if (me > 0) get_row(s, of(above) + (rows.begin - 1) * n, now + (rows.begin - 1) * n, n, me - 1);
    if (me < last) get_row(s, of(below) + rows.end * n, now + rows.end * n, n, me + 1);
  };
  return iterate(s, mine, work, edges, [&] { must(s.g.barrier()); });
}

namespace {

// All diffs, and the requests per barrier of the rank that asks most, from the eighth barrier on. Each rank is a node.
template <typename Step>
DsmNumbers count_settled(Session& s, Step step) {
  SharedHeap& heap = s.heap_use->heap;
  SharedHeapCounts before;
  must(heap.barrier());
  for (int barrier = 0; barrier < kBarriers; ++barrier) {
    if (barrier == kSettled) before = heap.counts();
    step(barrier);
    must(heap.barrier());
  }
  const SharedHeapCounts grown = since(heap, before);
  DsmNumbers mine{};
  mine[kGridDiffs] = static_cast<double>(grown.diffs);
  mine[kGridRequests] =
      static_cast<double>(grown.fetches + grown.home_questions + grown.notice_questions) / (kBarriers - kSettled);
  DsmNumbers numbers{};
  for (const DsmNumbers& one : all_numbers(s, mine)) {
    numbers[kGridDiffs] += one[kGridDiffs];
    numbers[kGridRequests] = std::max(numbers[kGridRequests], one[kGridRequests]);
  }
  return numbers;
}

}  // namespace

DsmNumbers count_jacobi(Session& s, const DsmWork& work) {
  Grids grids = grids_at(fresh_pages(s, pages_of(2 * work.n * work.n)).at(0), work.n);
  if (index(s.g.rank()) == 0) fill_rows(grids, {0, work.n}, work.n);
  const Rows mine = inside(my_rows(s, work.n), work.n);
  return count_settled(s, [&](int) {
    jacobi::update_rows(grids.now, grids.next, work.n, mine.begin, mine.end);
    std::swap(grids.now, grids.next);
  });
}

DsmNumbers count_sor(Session& s, const DsmWork& work) {
  const std::size_t places = sor::row_places(work.n), length = work.n * places;
  auto* const first = reinterpret_cast<double*>(fresh_pages(s, pages_of(2 * length)).at(0));
  double* const grid[2] = {first, first + length};
  for (std::size_t row = 0; row < work.n && index(s.g.rank()) == 0; ++row) {
    sor::fill_row(grid[sor::kRed] + row * places, work.n, row, sor::kRed);
    sor::fill_row(grid[sor::kBlack] + row * places, work.n, row, sor::kBlack);
  }
  const Rows mine = inside(my_rows(s, work.n), work.n);
  return count_settled(s, [&](int barrier) {
    const auto own = barrier % 2 == 0 ? sor::kRed : sor::kBlack, other = barrier % 2 == 0 ? sor::kBlack : sor::kRed;
    sor::update_rows(grid[own], grid[other], work.n, mine.begin, mine.end, own, kOmega);
  });
}

DsmNumbers count_one_node(Session& s, const DsmWork& work) {
  SharedHeap& heap = s.heap_use->heap;
  const auto wire_messages = [&] {
    std::uint64_t sum = 0;
    for (const OperationCount& row : s.g.operation_counts()) sum += row.wire_messages;
    return static_cast<double>(sum);
  };
  const double messages = wire_messages();
  const SharedHeapCounts before = heap.counts();
  const FaultSignals signals;
  time_jacobi_heap(s, work);
  const HeapPages shared = fresh_pages(s, 1);
  for (int i = 0; i < 100; ++i) {
    must(heap.lock(1));
    shared.word(0) = shared.word(0) + 1;
    must(heap.unlock(1));
  }
  must(heap.barrier());
  expect_read(shared.word(0), 100 * static_cast<std::uint64_t>(s.g.size()));
  const SharedHeapCounts grown = since(heap, before);
  DsmNumbers numbers{};
  numbers[kSignals] = static_cast<double>(signals.count() + grown.faults);
  numbers[kWireMessages] = wire_messages() - messages + messages_of(grown) + static_cast<double>(grown.lock_messages);
  numbers[kDiffs] = static_cast<double>(grown.diffs);
  return sum_of_numbers(s, numbers);
}

}  // namespace grapnel::bench
