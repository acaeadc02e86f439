// Where the shared heap lies, for the wrappers of system calls: they run in any thread, and before and after the job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "grapnel/shared_heap.hpp"

namespace grapnel::tmk {

struct HeapRange {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};  ///< 0: no heap is open
};
extern HeapRange heap_range;

void show_heap(const SharedHeap& heap);
void hide_heap();

// The two words change at start-up and at the end, where no call gets an address of the heap.
inline bool in_heap(const void* address) {
  const std::uintptr_t begin = heap_range.begin.load(std::memory_order_relaxed);
  return reinterpret_cast<std::uintptr_t>(address) - begin < heap_range.bytes.load(std::memory_order_relaxed);
}

/// True where the range begins in the heap; then what of it is in the heap has been made accessible. Where that fails
/// the job ends.
bool touch(const void* address, std::size_t bytes, bool writes);

}  // namespace grapnel::tmk
