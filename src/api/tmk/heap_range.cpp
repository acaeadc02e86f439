// SPDX-License-Identifier: Apache-2.0
#include "api/tmk/heap_range.hpp"

#include <unistd.h>

#include <algorithm>

#include "api/tmk/job.hpp"

namespace grapnel::tmk {

HeapRange heap_range;

void show_heap(const SharedHeap& heap) {
  heap_range.begin.store(reinterpret_cast<std::uintptr_t>(heap.base()), std::memory_order_relaxed);
  heap_range.bytes.store(heap.bytes(), std::memory_order_relaxed);
}

void hide_heap() { heap_range.bytes.store(0, std::memory_order_relaxed); }

bool touch(const void* address, std::size_t bytes, bool writes) {
  if (!in_heap(address)) [[likely]]
    return false;
  if (::getpid() != the_job->process) return false;  // a child of fork has no heap
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - heap_range.begin.load();
  const std::size_t inside = std::min(bytes, heap_range.bytes.load() - offset);
  must("a system call on the shared heap", the_job->heap.touch(address, inside, writes));
  return true;
}

}  // namespace grapnel::tmk
