// Memory of the heap: whole pages from node 0's table, small blocks from 64 KiB of this rank's own.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "dsm/heap.hpp"

namespace grapnel::dsm {

Result<std::int64_t> Heap::ask_for_pages(const MemoryBody& body) {
  if (me_ != 0) {
    progress::OutgoingRequest request;
    request.handler = handler(Call::memory);
    request.body = base::bytes_of(body);
    const progress::Client::Guard guard(*core_.client);
    GRAPNEL_ASSIGN_OR_RETURN(const auto answer, core_.client->ask(NodeId{0}, request));
    if (answer.code != progress::ReplyCode::answer) disbelieve("node 0 refuses to allocate pages");
    return answer.value;
  }
  for (;;) {
    const auto answer = body.wish == MemoryWish::free
                            ? allocator_.try_free(body.page)
                            : allocator_.try_allocate(body.pages, body.wish == MemoryWish::chunk);
    if (answer) return *answer;
    GRAPNEL_TRY(core_.launch.health());
    core_.host.yield();
  }
}

// In a job of one node nothing faults, so memory is taken, or refused, here.
Status Heap::use_pages(std::size_t first, std::size_t pages) {
  if (!one_node()) return {};
  for (std::size_t page = first; page < first + pages; ++page) {
    if (page == first || page % HeapMemory::kPagesPerExtent == 0) GRAPNEL_TRY(memory_.use_page(page));
  }
  return {};
}

Result<std::byte*> Heap::allocate_pages(MemoryWish wish, std::size_t pages) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto first, ask_for_pages({wish, pages, 0}));
  if (!PageAllocator::is_answer(first, pages, memory_.page_count())) {
    disbelieve(fmt::format("node 0 answers {} to a wish for {} pages of {}", first, pages, memory_.page_count()));
  }
  if (first == PageAllocator::kNoRoom) {
    return Status(
        Code::no_memory,
        fmt::format("the shared heap of {} MiB has no {} KiB in one piece left; free something (between nodes it "
                    "is used again after two barriers), or raise GRAPNEL_DSM_HEAP_BYTES",
                    memory_.bytes() / base::kMiB, pages * (os::kPageBytes / base::kKiB)));
  }
  const auto page = static_cast<std::size_t>(first);
  const Status used = use_pages(page, pages);
  if (!used.ok()) {
    GRAPNEL_TRY(ask_for_pages({MemoryWish::free, 0, page}).status());
    return used;
  }
  return reinterpret_cast<std::byte*>(base() + page * os::kPageBytes);
}

Result<void*> Heap::allocate(std::size_t bytes, std::string_view name, const void* return_address) {
  GRAPNEL_ASSIGN_OR_RETURN(void* const block, allocate_block(bytes));
  if (report_ != nullptr) {
    report_->add_block(reinterpret_cast<std::uintptr_t>(block) - base(), bytes, name, return_address);
  }
  return block;
}

Result<void*> Heap::allocate_block(std::size_t bytes) {
  if (bytes == 0) return Status(Code::invalid_argument, "allocate: 0 bytes of the shared heap");
  if (bytes > SmallBlocks::kMostBytes) {
    const std::size_t pages = bytes / os::kPageBytes + (bytes % os::kPageBytes != 0 ? 1 : 0);
    GRAPNEL_ASSIGN_OR_RETURN(std::byte* const block, allocate_pages(MemoryWish::block, pages));
    return static_cast<void*>(block);
  }
  const std::size_t size_class = SmallBlocks::class_of(bytes);
  std::optional<std::size_t> offset;
  {
    const base::MutexLock lock(small_mutex_);
    offset = small_.take(size_class);
  }
  if (!offset) {
    GRAPNEL_ASSIGN_OR_RETURN(std::byte* const chunk,
                             allocate_pages(MemoryWish::chunk, SmallBlocks::kChunkBytes / os::kPageBytes));
    const base::MutexLock lock(small_mutex_);
    small_.use_chunk(reinterpret_cast<std::uintptr_t>(chunk) - base());
    offset = small_.take(size_class);
  }
  const std::uint64_t header = SmallBlocks::kMark | size_class;
  auto* const block = reinterpret_cast<std::byte*>(base() + *offset);
  store(block, &header, sizeof header);
  return static_cast<void*>(block + SmallBlocks::kHeaderBytes);
}

Status Heap::free(void* address) {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - base();
  const auto wrong = [&] {
    return Status(Code::invalid_argument, fmt::format("free: no block of the shared heap begins at {}", address));
  };
  if (offset >= memory_.bytes()) return wrong();
  if (offset % os::kPageBytes == 0) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto pages, ask_for_pages({MemoryWish::free, 0, offset / os::kPageBytes}));
    return pages < 0 ? wrong() : Status();
  }
  if (offset % SmallBlocks::kHeaderBytes != 0) return wrong();
  auto* const block = static_cast<std::byte*>(address) - SmallBlocks::kHeaderBytes;
  std::uint64_t header = 0;
  load(block, &header, sizeof header);
  const std::uint64_t size_class = header ^ SmallBlocks::kMark;
  if (size_class >= SmallBlocks::kClasses) return wrong();
  const std::uint64_t gone = 0;  // freed twice is found
  store(block, &gone, sizeof gone);
  const base::MutexLock lock(small_mutex_);
  small_.give(size_class, offset - SmallBlocks::kHeaderBytes);
  return {};
}

}  // namespace grapnel::dsm
