// SPDX-License-Identifier: Apache-2.0
#include "dsm/records.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/check.hpp"
#include "base/units.hpp"
#include "dsm/diff.hpp"
#include "dsm/layout.hpp"
#include "dsm/planted.hpp"

namespace grapnel::dsm {

// Returns where the words end: called first with 0, to count.
std::uintptr_t RecordMemory::lay_out(std::uintptr_t begin, std::size_t pages) {
  Layout at(begin);
  words_ = at.place<RecordWords>(1);
  extents_ = at.place<os::Word>(extents_count_);
  histories_ = at.place<PageHistory>(pages);
  seen_ = at.place<std::atomic<std::uint64_t>>(pages * nodes_);
  got_ = at.place<std::atomic<std::uint64_t>>(pages * nodes_);
  return at.next();
}

Result<RecordMemory> RecordMemory::allocate(core::Core& core, const HeapMemory& heap, std::size_t limit) {
  RecordMemory memory;
  memory.limit_ = limit;
  memory.nodes_ = heap.node_count();
  const std::size_t record_bytes = base::round_up(2 * limit, SparseMemory::kExtentBytes);
  memory.extents_count_ = record_bytes / SparseMemory::kExtentBytes;
  const std::size_t word_bytes = memory.lay_out(0, heap.page_count());
  GRAPNEL_ASSIGN_OR_RETURN(memory.begin_, allocate_in_leaders(core, word_bytes, segment::Taking::at_once));
  memory.lay_out(reinterpret_cast<std::uintptr_t>(memory.begin_), heap.page_count());
  const auto records = allocate_in_leaders(core, record_bytes, segment::Taking::on_use);
  memory.records_ = SparseMemory(core, records ? *records : nullptr, memory.extents_);
  if (records) return memory;
  GRAPNEL_TRY(memory.free(core));
  return records.status();
}

Status RecordMemory::free(core::Core& core) const {
  for (std::byte* const part : {records_.begin(), begin_}) {
    if (part != nullptr) GRAPNEL_TRY(core.segments.free(core.world, core.launch.leads_node() ? part : nullptr));
  }
  return {};
}

// relaxed, all: under `copy`.

Result<bool> Records::make(std::size_t page, bool waits) {
  PageHistory& history = memory_.history(page);
  const std::uint64_t first = history.first.load(std::memory_order_relaxed);
  GRAPNEL_ASSERT(history.copy.is_taken(), "a record of page {} is made and its `copy` is not held", page);
  if (first == 0) return true;
  // The twin changes only when there is a place for the record.
  alignas(kLineBytes) std::array<std::byte, os::kPageBytes> twin;
  std::array<std::byte, kMostDiffBytes> diff;
  std::memcpy(twin.data(), heap_.twin(page), twin.size());
  const std::size_t bytes = make_diff(heap_.page(page), twin.data(), diff.data());
  if (bytes > 0) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto place,
                             this->place(base::round_up(sizeof(Entry) + bytes, alignof(Entry)), waits));
    if (!place) return false;
    const std::uint64_t time = history.time.load(std::memory_order_relaxed) + 1;
    const std::uint64_t last = history.last.load(std::memory_order_relaxed);
    const Entry entry{history.newest.load(std::memory_order_relaxed),
                      {static_cast<std::uint32_t>(page), static_cast<std::uint32_t>(bytes), first, last, time}};
    std::memcpy(at(*place), &entry, sizeof entry);
    std::memcpy(at(*place) + sizeof entry, diff.data(), bytes);
    apply_diff(heap_.twin(page), ByteView(diff).first(bytes));
    history.newest.store(*place, std::memory_order_relaxed);
    history.made.store(last, std::memory_order_relaxed);
    history.time.store(time, std::memory_order_relaxed);
  }
  history.first.store(0, std::memory_order_relaxed);
  return true;
}

// Places begin at 1. No record lies in two extents.
Result<std::optional<std::uint64_t>> Records::place(std::size_t bytes, bool waits) {
  GRAPNEL_ASSERT(bytes <= SparseMemory::kExtentBytes, "a record of {} bytes fits into no extent", bytes);
  std::atomic<std::uint64_t>& used = memory_.words().used;
  for (std::uint64_t before = used.load(std::memory_order_relaxed);;) {
    const std::uint64_t begin = (before & kSecondHalf) != 0 ? memory_.limit() : 0;
    std::uint64_t at = begin + (before & ~kSecondHalf);
    const bool crosses = at / SparseMemory::kExtentBytes != (at + bytes - 1) / SparseMemory::kExtentBytes;
    if (crosses) at = base::round_up(at, SparseMemory::kExtentBytes);
    const std::uint64_t end = at - begin + bytes;
    if (end > memory_.limit()) {
      return Status(Code::no_memory,
                    fmt::format("the shared heap's records of node {} take {} KiB since the last collection at a "
                                "barrier; pass barriers more often, or raise GRAPNEL_DSM_RECORD_BYTES",
                                index(core_.launch.node()), memory_.limit() / base::kKiB));
    }
    if (waits) {
      GRAPNEL_TRY(memory_.records().use(at));
    } else {
      GRAPNEL_ASSIGN_OR_RETURN(const bool is_taken, memory_.records().try_use(at));
      if (!is_taken) return std::optional<std::uint64_t>();
    }
    if (used.compare_exchange_weak(before, (before & kSecondHalf) | end, std::memory_order_relaxed)) {
      return std::optional(at + 1);
    }
  }
}

std::uint64_t Records::append(std::size_t page, std::uint64_t since, std::uint64_t until, Bytes& out,
                              std::size_t most) const {
  GRAPNEL_ASSERT(history(page).copy.is_taken(), "records of page {} are read and its `copy` is not held", page);
  for (std::uint64_t next = history(page).newest.load(std::memory_order_relaxed); next != 0;) {
    Entry entry;
    std::memcpy(&entry, at(next), sizeof entry);
    if (entry.header.last <= since) return 0;
    if (entry.header.first <= until || planted(Bug::records_not_asked_for)) {
      const std::size_t bytes = sizeof entry.header + entry.header.bytes;
      if (out.size() + bytes > most) return entry.header.first;
      const std::byte* const begin = at(next) + offsetof(Entry, header);
      out.insert(out.end(), begin, begin + bytes);
    }
    next = entry.older;
  }
  return 0;
}

void Records::change_halves() {
  std::atomic<std::uint64_t>& used = memory_.words().used;
  used.store((used.load(std::memory_order_relaxed) & kSecondHalf) ^ kSecondHalf, std::memory_order_relaxed);
}

void Records::drop(std::size_t page) {
  PageHistory& history = memory_.history(page);
  GRAPNEL_ASSERT(history.copy.is_taken(), "records of page {} are dropped and its `copy` is not held", page);
  history.dropped.store(history.made.load(std::memory_order_relaxed), std::memory_order_relaxed);
  history.newest.store(0, std::memory_order_relaxed);
}

}  // namespace grapnel::dsm
