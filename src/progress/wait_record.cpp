// SPDX-License-Identifier: Apache-2.0
#include "progress/wait_record.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace grapnel::progress {

constinit thread_local WaitScope* WaitScope::current = nullptr;

void WaitScope::remove_record() { records_->remove(slot_); }

void WaitRecords::Entry::write(const WaitSubject& subject, std::uint64_t since_ns) {
  WaitSubject shown = subject;
  bool kind_known = false;
  WaitScope* whole = nullptr;  // the outermost one
  for (WaitScope* scope = WaitScope::current; scope != nullptr; scope = scope->outer_) {
    const WaitSubject outer = scope->describe_(scope->context_);
    if (outer.kind != WaitKind::none && !kind_known) {
      kind_known = true;
      const char* const call = outer.call != nullptr ? outer.call : shown.call;
      shown = outer;
      shown.call = call;
    }
    if (outer.call != nullptr) shown.call = outer.call;
    if (scope->whole_) {
      whole = scope;
      if (scope->since_ns_ == 0) scope->since_ns_ = since_ns;
      since_ns = std::min(since_ns, scope->since_ns_);
    }
  }
  if (slot_ < 0 && whole != nullptr && whole->records_ == &records_) slot_ = whole->slot_;
  if (slot_ < 0) {
    slot_ = records_.take_slot();
    if (slot_ < 0) return;
    owned_ = whole == nullptr || whole->records_ != nullptr;
    if (!owned_) {
      whole->records_ = &records_;
      whole->slot_ = slot_;
    }
  }
  WaitRecords::write(records_.slots_[static_cast<std::size_t>(slot_)], shown, since_ns);
}

int WaitRecords::take_slot() {
  for (std::size_t number = 0; number < kThreads; ++number) {
    std::atomic<std::uint32_t>& taken = slots_[number].taken;
    std::uint32_t free = 0;
    if (taken.load(std::memory_order_relaxed) != 0) continue;
    // acquire: pairs with the release of the thread that had the slot before.
    if (taken.compare_exchange_strong(free, 1, std::memory_order_acquire)) return static_cast<int>(number);
  }
  return -1;
}

void WaitRecords::remove(int slot) {
  std::atomic<std::uint32_t>& taken = slots_[static_cast<std::size_t>(slot)].taken;
  GRAPNEL_ASSERT(taken.load(std::memory_order_relaxed) == 1, "the record of wait {} was removed before", slot);
  taken.store(0, std::memory_order_release);  // pairs with the acquire of the next owner
}

// Relaxed between the two steps of the version; release and the fence pair with `copy`.
void WaitRecords::write(Slot& slot, const WaitSubject& subject, std::uint64_t since_ns) {
  const std::uint32_t version = slot.version.load(std::memory_order_relaxed);
  GRAPNEL_ASSERT(version % 2 == 0, "two threads write one record (version {})", version);
  slot.version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  slot.kind.store(subject.kind, std::memory_order_relaxed);
  slot.call.store(subject.call, std::memory_order_relaxed);
  slot.since_ns.store(since_ns, std::memory_order_relaxed);
  for (std::size_t i = 0; i < subject.what.size(); ++i) {
    slot.what[i].store(subject.what[i], std::memory_order_relaxed);
  }
  std::uint32_t runs = 0;
  bool more = false;
  if (subject.members != nullptr) {
    const std::vector<Rank>& members = *subject.members;
    for (std::size_t i = 0, end = 0; i < members.size(); i = end) {
      for (end = i + 1; end < members.size() && index(members[end]) == index(members[end - 1]) + 1;) ++end;
      more = runs == kMostRuns;
      if (more) break;
      const std::uint64_t first = index(members[i]), last = index(members[end - 1]);
      slot.run[runs++].store(first << 32 | last, std::memory_order_relaxed);
    }
  }
  slot.runs.store(runs, std::memory_order_relaxed);
  slot.more.store(more, std::memory_order_relaxed);
  slot.version.store(version + 2, std::memory_order_release);
}

bool WaitRecords::copy(const Slot& slot, WaitReport& report) {
  const std::uint32_t before = slot.version.load(std::memory_order_acquire);
  if (before % 2 != 0) return false;
  report.kind = slot.kind.load(std::memory_order_relaxed);
  report.call = slot.call.load(std::memory_order_relaxed);
  report.since_ns = slot.since_ns.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < report.what.size(); ++i) report.what[i] = slot.what[i].load(std::memory_order_relaxed);
  report.more_members = slot.more.load(std::memory_order_relaxed);
  const std::uint32_t runs = std::min<std::uint32_t>(slot.runs.load(std::memory_order_relaxed), kMostRuns);
  report.members.clear();
  for (std::uint32_t i = 0; i < runs; ++i) {
    const std::uint64_t run = slot.run[i].load(std::memory_order_relaxed);
    report.members.emplace_back(static_cast<std::uint32_t>(run >> 32), static_cast<std::uint32_t>(run));
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return slot.version.load(std::memory_order_relaxed) == before;
}

std::vector<WaitReport> WaitRecords::read(bool& being_written) const {
  std::vector<WaitReport> found;
  being_written = false;
  for (const Slot& slot : slots_) {
    if (slot.taken.load(std::memory_order_acquire) == 0) continue;
    WaitReport report;
    if (copy(slot, report)) {
      found.push_back(std::move(report));
    } else {
      being_written = true;
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.since_ns < b.since_ns; });
  return found;
}

}  // namespace grapnel::progress
