#include "sync/barrier/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace grapnel::sync {

static_assert(BarrierWords::kPayloadAreas == 64, "areas_used has a bit for each");

BarrierWords::BarrierWords(launch::Launch& launch, progress::Waiting& waiting)
    : waiting_(waiting),
      words_(launch.node_memory().carve<Words>(1).front()),
      entries_(launch.node_memory().carve<BarrierEntry>(kEntries)),
      areas_(launch.node_memory().carve<PayloadArea>(kPayloadAreas)) {}

// A death ends the job, so that a lock whose holder died only has to let its waiters go: they notice by themselves.
Status BarrierWords::take_lock(os::Word& lock) {
  return waiting_.on_word(lock, [&](std::uint32_t& seen) {
    // acquire: pairs with the release of the holder before.
    if (seen != 0 || !lock.compare_exchange_strong(seen, 1, std::memory_order_acquire)) return false;
    seen = 1;
    return true;
  });
}

void BarrierWords::drop_lock(os::Word& lock) {
  lock.store(0, std::memory_order_release);
  waiting_.host().wake(lock);
}

std::uint32_t BarrierWords::find(std::uint64_t key) const {
  const std::uint32_t used = words_.entries_used.load(std::memory_order_relaxed);  // ordered by the table's lock
  std::uint32_t free = used;
  for (std::uint32_t i = 0; i < used; ++i) {
    if (entries_[i].references == 0) {
      free = std::min(free, i);
    } else if (entries_[i].key == key) {
      return i;
    }
  }
  return free;
}

Result<std::uint32_t> BarrierWords::attach(std::uint64_t key, std::uint32_t count,
                                           const std::function<Status(std::uint32_t)>& on_new) {
  GRAPNEL_TRY(take_lock(words_.lock));
  const std::uint32_t number = find(key);
  Status outcome;
  if (number >= kEntries) {
    outcome = Status(Code::unavailable,
                     fmt::format("{} groups have barriers on this node already; free some of them first", kEntries));
  } else if (BarrierEntry& entry = entries_[number]; entry.references == 0) {
    entry.key = key;
    entry.gate.store(count << 1, std::memory_order_relaxed);  // ordered by the lock
    outcome = on_new(number);
  }
  if (outcome.ok()) {
    ++entries_[number].references;
    words_.entries_used.store(std::max(words_.entries_used.load(std::memory_order_relaxed), number + 1),
                              std::memory_order_relaxed);
  }
  drop_lock(words_.lock);
  if (!outcome.ok()) return outcome;
  return number;
}

Status BarrierWords::release(std::uint32_t number, const std::function<Status()>& on_last) {
  GRAPNEL_TRY(take_lock(words_.lock));
  BarrierEntry& entry = entries_[number];
  Status outcome;
  if (entry.references == 1) {
    outcome = on_last();
    const std::uint32_t area = entry.payload.exchange(0, std::memory_order_relaxed);  // ordered by the lock
    if (area != 0) words_.areas_used.fetch_and(~(std::uint64_t{1} << (area - 1)), std::memory_order_relaxed);
  }
  --entry.references;
  drop_lock(words_.lock);
  return outcome;
}

PayloadArea* BarrierWords::find_payload_area(BarrierEntry& entry) {
  const std::uint32_t area = entry.payload.load(std::memory_order_acquire);  // pairs with the store below
  return area == 0 ? nullptr : &areas_[area - 1];
}

Result<PayloadArea*> BarrierWords::payload_area(BarrierEntry& entry) {
  if (PayloadArea* found = find_payload_area(entry)) return found;
  GRAPNEL_TRY(take_lock(words_.lock));
  const std::uint64_t used = words_.areas_used.load(std::memory_order_relaxed);  // ordered by the lock
  const bool there = entry.payload.load(std::memory_order_relaxed) != 0;
  if (!there && ~used != 0) {
    const auto area = static_cast<std::uint32_t>(std::countr_one(used));
    for (PayloadArea::Joined& in : areas_[area].in) in.count = PayloadArea::kNoBarrier;
    areas_[area].out_bytes.store(0, std::memory_order_relaxed);
    words_.areas_used.store(used | (std::uint64_t{1} << area), std::memory_order_relaxed);
    entry.payload.store(area + 1, std::memory_order_release);
  }
  drop_lock(words_.lock);
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

// A line that nobody writes stays with all who read it.
template <typename T>
void clear(std::atomic<T>& word) {
  if (word.load(std::memory_order_relaxed) != 0) word.store(0, std::memory_order_relaxed);  // ordered by the gate
}

}  // namespace

void BarrierWords::open(BarrierEntry& entry) {
  const std::uint32_t before = entry.gate.load(std::memory_order_relaxed);  // nobody else counts it up
  clear(entry.arrived);
  clear(entry.dirty);
  clear(entry.most_dirty);
  clear(entry.combine);
  // release: pairs with the acquire of whoever waits at the gate, who then sees the results and all that came before.
  const std::uint32_t old = entry.gate.exchange((BarrierWords::count(before) + 1) << 1, std::memory_order_acq_rel);
  if ((old & 1) != 0) waiting_.host().wake(entry.gate);
}

// Who has marked the gate for the next barrier meanwhile is woken in vain, or finds another value and does not sleep.
void BarrierWords::wake_all(BarrierEntry& entry) {
  entry.gate.fetch_and(~std::uint32_t{1}, std::memory_order_relaxed);
  waiting_.host().wake(entry.gate);
}

}  // namespace grapnel::sync
