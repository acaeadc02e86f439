// SPDX-License-Identifier: Apache-2.0
#include "dsm/heap_memory.hpp"

#include "dsm/layout.hpp"

namespace grapnel::dsm {
// Returns where the words end: called first with 0, to count.
std::uintptr_t HeapMemory::lay_out(std::uintptr_t words) {
  Layout at(words);
  node_ = at.place<NodeWords>(1);
  clock_ = at.place<std::atomic<std::uint64_t>>(node_count_);
  stale_ = at.place<std::atomic<std::uint32_t>>(kLogEntries);
  served_ = at.place<std::atomic<std::uint32_t>>(kLogEntries);
  diffed_ = at.place<std::atomic<std::uint32_t>>(kLogEntries);
  notices_ = at.place<NoticeEntry>(kLogEntries);
  directory_ = at.place<std::atomic<std::uint32_t>>(page_count_);
  block_pages_ = at.place<std::atomic<std::uint32_t>>(page_count_);
  allocated_ = at.place<std::atomic<std::uint64_t>>((page_count_ + 63) / 64);
  conditions_ = at.place<ConditionWords>((condition_count_ + node_count_ - 1) / node_count_);
  behind_ = at.place<std::atomic<std::uint32_t>>(rank_count_);
  awaited_ = at.place<os::Word>(rank_count_);
  extents_ = at.place<os::Word>(2 * extent_count());
  page_words_ = at.place<PageWords>(page_count_);
  return at.next();
}

Result<HeapMemory> HeapMemory::allocate(core::Core& core, std::size_t bytes, std::size_t conditions) {
  HeapMemory heap;
  heap.segments_ = &core.segments;
  heap.page_count_ = bytes / os::kPageBytes;
  heap.node_count_ = core.launch.nodes().node_count();
  heap.rank_count_ = static_cast<std::size_t>(core.launch.size());
  heap.condition_count_ = conditions;
  const std::size_t word_bytes = heap.lay_out(0);
  const auto allocate = [&](std::byte*& place, std::size_t length, segment::Taking taking) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(place, allocate_in_leaders(core, length, taking));
    return {};
  };
  std::byte *pages = nullptr, *twins = nullptr;
  Status allocated = allocate(pages, bytes, segment::Taking::on_use);
  if (allocated.ok()) allocated = allocate(twins, bytes, segment::Taking::on_use);
  if (allocated.ok()) allocated = allocate(heap.words_, word_bytes, segment::Taking::at_once);
  if (allocated.ok()) heap.lay_out(reinterpret_cast<std::uintptr_t>(heap.words_));
  heap.pages_ = SparseMemory(core, pages, heap.extents_);
  heap.twins_ = SparseMemory(core, twins, heap.extents_ + heap.extent_count());
  if (!allocated.ok()) {
    GRAPNEL_TRY(heap.free(core));
    return allocated;
  }
  return heap;
}

Status HeapMemory::free(core::Core& core) const {
  for (std::byte* const part : {words_, twins_.begin(), pages_.begin()}) {
    if (part != nullptr) GRAPNEL_TRY(core.segments.free(core.world, core.launch.leads_node() ? part : nullptr));
  }
  return {};
}

}  // namespace grapnel::dsm
