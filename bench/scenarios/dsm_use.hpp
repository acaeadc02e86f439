// The heap of a job of `dsm`, and what its work shares.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "grapnel/shared_heap.hpp"
#include "scenarios/dsm_work.hpp"

namespace grapnel::bench {

inline constexpr std::size_t kHeapPageBytes = 4096;

using DsmNumbers = std::array<double, BoardPage::kNumbers>;

/// Of the whole job; made by its first work, by all ranks at once.
struct HeapUse {
  SharedHeap heap;
  std::map<DsmOperation, std::byte*> areas = {};  ///< that are used again
  std::map<DsmOperation, Memory> memories = {};
  LockSet locks = {};  ///< without the heap
};

/// Consecutive pages of the heap that no rank has touched yet.
class HeapPages {
 public:
  HeapPages() = default;
  explicit HeapPages(std::byte* first) : first_(first) {}
  std::byte* at(std::size_t page) const { return first_ + page * kHeapPageBytes; }
  volatile std::uint64_t& word(std::size_t page, std::size_t word = 0) const {
    return reinterpret_cast<volatile std::uint64_t*>(at(page))[word];
  }

 private:
  std::byte* first_ = nullptr;
};

/// Collective. They begin where a block of 16 pages begins, whose homes one answer names.
HeapPages fresh_pages(Session& s, std::size_t pages);
/// Collective. The entries of their homes are kept by node 1 of two; they begin where an extent of memory begins.
HeapPages fresh_pages_kept_by_1(Session& s, std::size_t pages);
/// Collective. The same ones again for every work of that operation.
HeapPages lasting_pages(Session& s, DsmOperation operation, std::size_t pages);

/// What the heap's counts have grown by since `before`.
SharedHeapCounts since(const SharedHeap& heap, const SharedHeapCounts& before);
/// Messages of the heap in those, answers counted; without locks and barriers.
double messages_of(const SharedHeapCounts& counts);

/// Collective: the numbers of each rank, by rank.
std::vector<DsmNumbers> all_numbers(Session& s, const DsmNumbers& mine);
/// Collective.
DsmNumbers sum_of_numbers(Session& s, const DsmNumbers& mine);

/// Ends the job where what a rank reads is not what another wrote: such a time or count is none.
void expect_read(std::uint64_t found, std::uint64_t written);

/// A rank's own part, while the others sleep; collective.
template <typename Part>
void alone(Session& s, Rank rank, Part part) {
  if (s.g.rank() == rank) part();
  s.board.gather(static_cast<std::uint32_t>(s.g.size()), 0);
}

// Each is called by all ranks at once. dsm_counts.cpp
DsmNumbers count_miss(Session& s, const DsmWork& work);
DsmNumbers count_sequence(Session& s, const DsmWork& work);
DsmNumbers count_first_write(Session& s, const DsmWork& work);
DsmNumbers count_release(Session& s, const DsmWork& work);
DsmNumbers count_barrier(Session& s, const DsmWork& work);
DsmNumbers count_hand_off(Session& s, const DsmWork& work);
DsmNumbers count_home(Session& s, const DsmWork& work);
// dsm_jacobi.cpp
DsmNumbers count_jacobi(Session& s, const DsmWork& work);
DsmNumbers count_sor(Session& s, const DsmWork& work);
DsmNumbers count_one_node(Session& s, const DsmWork& work);
// dsm_costs.cpp; rank 0's time of one operation, ns
double time_get_and_trap(Session& s, const DsmWork& work);
double time_miss(Session& s, const DsmWork& work);
double time_first_miss(Session& s, const DsmWork& work);
double time_sequence(Session& s, const DsmWork& work);
double time_first_sequence(Session& s, const DsmWork& work);
double time_diff_and_message(Session& s, const DsmWork& work);
double time_release(Session& s, const DsmWork& work);
double time_runtime_barrier(Session& s, const DsmWork& work);
double time_heap_barrier(Session& s, const DsmWork& work);
double time_runtime_hand_off(Session& s, const DsmWork& work);
double time_heap_hand_off(Session& s, const DsmWork& work);
// dsm_jacobi.cpp; of all iterations
double time_jacobi_sequential(Session& s, const DsmWork& work);
double time_jacobi_plain(Session& s, const DsmWork& work);
double time_jacobi_by_hand(Session& s, const DsmWork& work);
double time_jacobi_heap(Session& s, const DsmWork& work);

}  // namespace grapnel::bench
