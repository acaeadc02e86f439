// SPDX-License-Identifier: Apache-2.0
#include "dsm/heap_memory.hpp"

#include <fmt/format.h>

#include "base/units.hpp"

namespace grapnel::dsm {
namespace {

// Places things one after the other, each at a cache line.
class Cursor {
 public:
  explicit Cursor(std::uintptr_t begin) : next_(begin) {}
  template <typename T>
  T* place(std::size_t count) {
    T* const at = reinterpret_cast<T*>(next_);
    next_ += base::round_up(count * sizeof(T), base::kCacheLineBytes);
    return at;
  }
  std::uintptr_t next() const { return next_; }

 private:
  std::uintptr_t next_;
};

// One allocation in each node, the leader's; where it lies in this one.
Result<std::byte*> allocate_in_leaders(core::Core& core, std::size_t bytes, segment::Taking taking) {
  launch::Launch& launch = core.launch;
  GRAPNEL_ASSIGN_OR_RETURN(const auto allocation,
                           core.segments.allocate(core.world, launch.leads_node() ? bytes : 0, taking));
  const Rank leader = launch.nodes().leader(launch.node());
  return static_cast<std::byte*>(allocation.parts[index(leader)].address);
}

}  // namespace

// Returns where the words end: called first with 0, to count.
std::uintptr_t HeapMemory::lay_out(std::uintptr_t words) {
  Cursor at(words);
  node_ = at.place<NodeWords>(1);
  clock_ = at.place<std::atomic<std::uint64_t>>(node_count_);
  stale_ = at.place<std::atomic<std::uint32_t>>(kLogEntries);
  served_ = at.place<std::atomic<std::uint32_t>>(kLogEntries);
  notices_ = at.place<NoticeEntry>(kLogEntries);
  directory_ = at.place<std::atomic<std::uint32_t>>(page_count_);
  block_pages_ = at.place<std::atomic<std::uint32_t>>(page_count_);
  allocated_ = at.place<std::atomic<std::uint64_t>>((page_count_ + 63) / 64);
  extents_ = at.place<os::Word>(2 * extent_count());
  page_words_ = at.place<PageWords>(page_count_);
  return at.next();
}

Result<HeapMemory> HeapMemory::allocate(core::Core& core, std::size_t bytes) {
  HeapMemory heap;
  heap.segments_ = &core.segments;
  heap.waiting_ = &core.waiting;
  heap.page_count_ = bytes / os::kPageBytes;
  heap.node_count_ = core.launch.nodes().node_count();
  const std::size_t word_bytes = heap.lay_out(0);
  const auto allocate = [&](std::byte*& place, std::size_t length, segment::Taking taking) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(place, allocate_in_leaders(core, length, taking));
    return {};
  };
  Status allocated = allocate(heap.pages_, bytes, segment::Taking::on_use);
  if (allocated.ok()) allocated = allocate(heap.twins_, bytes, segment::Taking::on_use);
  if (allocated.ok()) allocated = allocate(heap.words_, word_bytes, segment::Taking::at_once);
  if (!allocated.ok()) {
    GRAPNEL_TRY(heap.free(core));
    return allocated;
  }
  heap.lay_out(reinterpret_cast<std::uintptr_t>(heap.words_));
  return heap;
}

Status HeapMemory::free(core::Core& core) const {
  for (std::byte* const part : {words_, twins_, pages_}) {
    if (part != nullptr) GRAPNEL_TRY(core.segments.free(core.world, core.launch.leads_node() ? part : nullptr));
  }
  return {};
}

Status HeapMemory::use(os::Word* extents, std::byte* memory, std::size_t number) {
  os::Word& extent = extents[number / kPagesPerExtent];
  while (extent.load(std::memory_order_acquire) != kTaken) {
    std::uint32_t untouched = kUntouched;
    if (extent.compare_exchange_strong(untouched, kBegun)) {
      return take(extent, memory + number / kPagesPerExtent * kExtentBytes);
    }
    GRAPNEL_TRY(waiting_->on_word(extent, [](std::uint32_t seen) { return seen != kBegun; }));
  }
  return {};
}

Status HeapMemory::take(os::Word& extent, std::byte* begin) {
  const Status taken = segments_->take(begin, kExtentBytes);
  if (!taken.ok()) {
    extent.store(kUntouched, std::memory_order_release);
    waiting_->host().wake(extent);
    return Status(taken.code(),
                  fmt::format("memory for {} KiB of the shared heap: {}", kExtentBytes / base::kKiB, taken.message()));
  }
  extent.store(kTaken, std::memory_order_release);
  waiting_->host().wake(extent);
  return {};
}

Result<bool> HeapMemory::try_use(os::Word* extents, std::byte* memory, std::size_t number) {
  os::Word& extent = extents[number / kPagesPerExtent];
  if (extent.load(std::memory_order_acquire) == kTaken) return true;
  std::uint32_t untouched = kUntouched;
  if (!extent.compare_exchange_strong(untouched, kBegun)) return untouched == kTaken;
  GRAPNEL_TRY(take(extent, memory + number / kPagesPerExtent * kExtentBytes));
  return true;
}

}  // namespace grapnel::dsm
