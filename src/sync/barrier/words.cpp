// SPDX-License-Identifier: Apache-2.0
#include "sync/barrier/words.hpp"

#include <fmt/format.h>

#include <bit>

namespace grapnel::sync {

static_assert(BarrierWords::kPayloadAreas == 64, "areas_used has a bit for each");

BarrierWords::BarrierWords(launch::Launch& launch, progress::Waiting& waiting)
    : launch_(launch),
      waiting_(waiting),
      words_(launch.node_memory().carve<Words>(1).front()),
      entries_(launch, waiting.host(), words_.entries, launch.node_memory().carve<BarrierEntry>(kEntries), "barriers"),
      areas_(launch.node_memory().carve<PayloadArea>(kPayloadAreas)) {}

Result<std::uint32_t> BarrierWords::attach(std::uint64_t key, std::uint32_t count,
                                           const std::function<Status(std::uint32_t)>& on_new) {
  return entries_.attach(key, [&](std::uint32_t number) {
    entries_[number].gate.start_at(count);
    return on_new(number);
  });
}

Status BarrierWords::release(std::uint32_t number, const std::function<Status()>& on_last) {
  return entries_.release(number, [&] {
    Status outcome = on_last();
    const std::uint32_t area = entries_[number].payload.exchange(0, std::memory_order_relaxed);  // ordered by the lock
    if (area != 0) words_.areas_used.fetch_and(~(std::uint64_t{1} << (area - 1)), std::memory_order_relaxed);
    return outcome;
  });
}

PayloadArea* BarrierWords::find_payload_area(BarrierEntry& entry) {
  const std::uint32_t area = entry.payload.load(std::memory_order_acquire);  // pairs with the store below
  return area == 0 ? nullptr : &areas_[area - 1];
}

Result<PayloadArea*> BarrierWords::payload_area(BarrierEntry& entry) {
  if (PayloadArea* found = find_payload_area(entry)) return found;
  const auto guard = entries_.lock();
  if (!guard) return guard.status();
  const std::uint64_t used = words_.areas_used.load(std::memory_order_relaxed);  // ordered by the lock
  const bool there = entry.payload.load(std::memory_order_relaxed) != 0;
  if (!there && ~used != 0) {
    const auto area = static_cast<std::uint32_t>(std::countr_one(used));
    for (PayloadArea::Joined& in : areas_[area].in) in.count = PayloadArea::kNoBarrier;
    areas_[area].out_bytes.store(0, std::memory_order_relaxed);
    words_.areas_used.store(used | (std::uint64_t{1} << area), std::memory_order_relaxed);
    entry.payload.store(area + 1, std::memory_order_release);
  }
  if (PayloadArea* found = find_payload_area(entry)) return found;
  return Status(Code::unavailable,
                fmt::format("{} groups carry payloads in their barriers on this node already", kPayloadAreas));
}

void BarrierWords::launch(std::uint32_t number) {
  std::uint32_t head = words_.launched.load(std::memory_order_relaxed);
  do {
    entries_[number].next.store(head, std::memory_order_relaxed);  // published by the exchange
  } while (!words_.launched.compare_exchange_weak(head, number + 1, std::memory_order_seq_cst));
}

namespace {

// A line that is not written stays with all who read it.
template <typename T>
void clear(std::atomic<T>& word) {
  if (word.load(std::memory_order_relaxed) != 0) word.store(0, std::memory_order_relaxed);  // ordered by the gate
}

}  // namespace

void BarrierWords::open(BarrierEntry& entry) {
  clear(entry.arrived);
  clear(entry.dirty);
  clear(entry.most_dirty);
  clear(entry.combine);
  entry.gate.open(waiting_.host());  // those that wait see the results, and all before them
}

}  // namespace grapnel::sync
