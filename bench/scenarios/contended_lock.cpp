// A lock under contention: who holds it lets it go at once and wants it again (thesis, section 5.3).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include "grapnel/lock_set.hpp"
#include "pairs.hpp"
#include "scenarios/sync_work.hpp"

namespace grapnel::bench {
namespace {

constexpr Rank kHome{0};
constexpr std::uint64_t kMoment_ns = 1'000'000;
constexpr std::uint64_t kInLine_ns = 500;  ///< from the word that one will ask for the lock until he surely waits

struct Times {
  std::uint64_t acquire_ns = 0, release_ns = 0;
  std::uint64_t first_ns = 0, last_ns = 0;  ///< of the acquisitions
};

Times acquire_and_release(LockSet& set, std::uint64_t operations) {
  Times times;
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint64_t begin_ns = now_ns();
    must(set.lock(0, kHome));
    const std::uint64_t held_ns = now_ns();
    must(set.unlock(0, kHome));
    times.acquire_ns += held_ns - begin_ns;
    times.release_ns += now_ns() - held_ns;
    if (i == 0) times.first_ns = held_ns;
    times.last_ns = held_ns;
  }
  return times;
}

void lower(std::atomic<std::uint64_t>& word, std::uint64_t value) {
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while (value < seen && !word.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void raise(std::atomic<std::uint64_t>& word, std::uint64_t value) {
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while (value > seen && !word.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// A hand-off is sent from any rank to any node, and a new connection takes several trips.
void connect_to_all(Session& s) {
  std::uint64_t word = 0;
  for (int rank = 0; rank < s.g.size(); ++rank) must(s.g.get(s.memory.on(Rank{rank}), &word, sizeof word, Rank{rank}));
}

std::uint64_t part_of(const Times& times, SyncOperation operation) {
  switch (operation) {
    case SyncOperation::lock_acquire: return times.acquire_ns;
    case SyncOperation::lock_release: return times.release_ns;
    default: return times.acquire_ns + times.release_ns;
  }
}

LockSet make_set(Session& s, const SyncWork& work) {
  LockOptions options;
  options.kind = static_cast<LockKind>(work.lock);
  auto created = s.g.create_lock_set(1, options);
  if (!created) fail(created.status());
  return *created;
}

void await(const std::atomic<std::uint64_t>& word, std::uint64_t value) {
  while (word.load(std::memory_order_acquire) != value) __builtin_ia32_pause();
}

// What the clock shows between two readings, one after the other.
std::uint64_t clock_ps() {
  constexpr std::uint64_t kReadings = 1000;
  const std::uint64_t begin_ns = now_ns();
  for (std::uint64_t i = 1; i < kReadings; ++i) now_ns();
  return 1000 * (now_ns() - begin_ns) / kReadings;
}

// Its time, ns.
std::uint64_t use_often(LockSet& set, std::uint64_t operations) {
  const std::uint64_t begin_ns = now_ns();
  for (std::uint64_t i = 0; i < operations; ++i) {
    must(set.lock(0, kHome));
    must(set.unlock(0, kHome));
  }
  return now_ns() - begin_ns;
}

}  // namespace

std::uint64_t contend_in_node(Session& s, const SyncWork& work) {
  LockSet set = make_set(s, work);
  const auto ranks = static_cast<std::uint32_t>(s.g.size());
  std::atomic<std::uint64_t>& hand_offs = s.board.page().total_ns;
  hand_offs.store(0, std::memory_order_relaxed);  // the same by all; ordered by the gathering
  s.board.gather(ranks, kMoment_ns);
  const std::uint64_t time_ns = use_often(set, work.operations);
  hand_offs.fetch_add(set.counts().local_hand_offs, std::memory_order_relaxed);
  s.board.gather(ranks, 0);
  must(s.g.destroy_lock_set(set));
  return 1000 * time_ns / std::max<std::uint64_t>(hand_offs.load(std::memory_order_relaxed), 1);
}

std::uint64_t hand_over_in_node(Session& s, const SyncWork& work) {
  LockSet set = make_set(s, work);
  const auto me = static_cast<std::uint64_t>(index(s.g.rank()));
  // The rank that will wait writes so, and when it has the lock; then the two change places.
  auto& turn = *static_cast<std::atomic<std::uint64_t>*>(s.memory.on(kHome));  // zero, as the bare limits leave it
  BoardPage& page = s.board.page();
  page.total_ns.store(0, std::memory_order_relaxed);  // the same by both; ordered by the gathering
  if (me == 0) must(set.lock(0, kHome));
  s.board.gather(2, 0);
  std::uint64_t time_ns = 0;  // modulo 2^64: each adds the times of its acquisitions, less those of its releases
  for (std::uint64_t i = 0; i < work.operations; ++i) {
    const std::uint64_t asks = 2 * i + 1, has = 2 * i + 2;
    if (i % 2 == me) {
      await(turn, asks);
      const std::uint64_t until_ns = now_ns() + kInLine_ns;
      while (now_ns() < until_ns) {
      }
      const std::uint64_t begin_ns = now_ns();  // after the loop, whose end the processor did not foresee
      must(set.unlock(0, kHome));
      time_ns -= begin_ns;
      await(turn, has);
    } else {
      turn.store(asks, std::memory_order_release);
      must(set.lock(0, kHome));
      time_ns += now_ns();
      turn.store(has, std::memory_order_release);
    }
  }
  page.total_ns.fetch_add(time_ns, std::memory_order_relaxed);
  s.board.gather(2, 0);
  if (work.operations % 2 == me) must(set.unlock(0, kHome));
  turn.store(0, std::memory_order_relaxed);  // the same by both
  must(s.g.destroy_lock_set(set));
  return 1000 * page.total_ns.load(std::memory_order_relaxed) / work.operations - clock_ps();
}

std::uint64_t use_free_lock(Session& s, const SyncWork& work) {
  LockSet set = make_set(s, work);
  std::uint64_t time_ns = 0;
  if (s.g.rank() == kHome) time_ns = use_often(set, work.operations);
  must(s.g.destroy_lock_set(set));
  return 1000 * time_ns / work.operations;
}

std::uint64_t contend(Session& s, const SyncWork& work) {
  LockSet set = make_set(s, work);
  const auto ranks = static_cast<std::uint32_t>(s.g.size());
  const bool contends = index(s.g.rank()) >= work.first;
  const std::uint64_t contenders = ranks - work.first;
  BoardPage& page = s.board.page();
  if (contends) {
    connect_to_all(s);
    acquire_and_release(set, 1);  // every rank has its words then, and the home's server its ways
  }
  page.total_ns.store(0, std::memory_order_relaxed);  // the same by all; ordered by the gathering
  page.first_ns.store(UINT64_MAX, std::memory_order_relaxed);
  page.last_ns.store(0, std::memory_order_relaxed);
  s.board.gather(ranks, kMoment_ns);
  if (contends) {
    const Times times = acquire_and_release(set, work.operations);
    page.total_ns.fetch_add(part_of(times, work.operation), std::memory_order_relaxed);
    lower(page.first_ns, times.first_ns);
    raise(page.last_ns, times.last_ns);
  }
  s.board.gather(ranks, 0);
  must(s.g.destroy_lock_set(set));
  const std::uint64_t acquisitions = contenders * work.operations;
  if (work.operation == SyncOperation::hand_off) return (page.last_ns - page.first_ns) / (acquisitions - 1);
  return page.total_ns / acquisitions;
}

}  // namespace grapnel::bench
