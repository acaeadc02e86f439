// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sync_work.hpp"

#include <atomic>
#include <vector>

#include "limits/handover.h"
#include "limits/local.h"
#include "pairs.hpp"

namespace grapnel::bench {
namespace {

constexpr std::uint64_t kMoment_ns = 200'000;  // for all ranks to be asleep before they begin

void write_to_targets(Session& s, const SyncWork& work, const std::vector<std::byte>& data) {
  const int size = s.g.size(), me = static_cast<int>(index(s.g.rank()));
  for (int step = 1; step <= static_cast<int>(work.targets); ++step) {
    const Rank to{(me + step) % size};
    auto* const slot = static_cast<std::byte*>(s.memory.on(to)) + data.size() * index(s.g.rank());
    for (std::uint64_t i = 0; i < work.writes; ++i) must(s.g.put(data.data(), slot, data.size(), to));
  }
}

void pass_time(std::uint64_t gap_us) {
  const std::uint64_t until_ns = now_ns() + gap_us * 1000;
  while (gap_us > 0 && now_ns() < until_ns) {
  }
}

// All ranks begin at the same time: with their writes, or, where these are to settle, with the operation.
std::uint64_t synchronize_once(Session& s, const SyncWork& work, const std::vector<std::byte>& data) {
  const auto ranks = static_cast<std::uint32_t>(s.g.size());
  s.board.gather(ranks, kMoment_ns);
  write_to_targets(s, work, data);
  pass_time(work.gap_us);
  if (work.settle_us > 0) s.board.gather(ranks, work.settle_us * 1000);
  const std::uint64_t begin_ns = now_ns();
  must(work.operation == SyncOperation::fence ? s.g.fence_all() : s.g.barrier());
  return now_ns() - begin_ns;
}

std::uint64_t synchronize(Session& s, const SyncWork& work) {
  const std::vector<std::byte> data(work.bytes, std::byte{1});
  const auto ranks = static_cast<std::uint32_t>(s.g.size());
  std::atomic<std::uint64_t>& total_ns = s.board.page().total_ns;
  // Not timed: from here on the barrier before was one like this, and the plan is chosen from it.
  synchronize_once(s, work, data);
  total_ns.store(0, std::memory_order_relaxed);  // the same by all; ordered by the gathering
  s.board.gather(ranks, 0);
  std::uint64_t time_ns = 0;
  for (std::uint64_t i = 0; i < work.operations; ++i) time_ns += synchronize_once(s, work, data);
  total_ns.fetch_add(time_ns, std::memory_order_relaxed);
  s.board.gather(ranks, 0);
  return total_ns.load(std::memory_order_relaxed) / ranks / work.operations;
}

// Barriers without writes, a limit, or a lock: too short for a clock around each.
std::uint64_t in_the_node(Session& s, const SyncWork& work) {
  const auto rank = static_cast<unsigned>(index(s.g.rank()));
  const auto ranks = static_cast<unsigned>(s.g.size());
  void* const words = s.memory.on(Rank{0});
  const std::uint64_t begin_ns = now_ns();
  switch (work.operation) {
    case SyncOperation::bounce: limit_bounce(words, rank, ranks, work.operations); break;
    case SyncOperation::wake_around: limit_wake_around(words, rank, ranks, work.operations); break;
    case SyncOperation::two_adds:
      if (rank == 0) limit_fetch_and_add(static_cast<std::int64_t*>(words), static_cast<long>(2 * work.operations));
      break;
    case SyncOperation::free_lock: return use_free_lock(s, work);
    case SyncOperation::hand_off: return hand_over_in_node(s, work);
    case SyncOperation::contended: return contend_in_node(s, work);
    default:
      for (std::uint64_t i = 0; i < work.operations; ++i) must(s.g.barrier());
  }
  return 1000 * (now_ns() - begin_ns) / work.operations;
}

std::uint64_t between_nodes(Session& s, const SyncWork& work) {
  switch (work.operation) {
    case SyncOperation::fence:
    case SyncOperation::barrier: return synchronize(s, work);
    case SyncOperation::ping_pong: return ping_pong(s, work);
    default: return contend(s, work);
  }
}

}  // namespace

void SyncWork::store(SharedPage& board) const {
  std::uint64_t* const argument = board.page().argument;
  argument[0] = static_cast<std::uint64_t>(operation);
  argument[1] = targets;
  argument[2] = bytes;
  argument[3] = gap_us;
  argument[4] = operations;
  argument[5] = settle_us;
  argument[6] = writes;
  argument[7] = lock;
  argument[8] = first;
}

SyncWork SyncWork::load(SharedPage& board) {
  const std::uint64_t* const argument = board.page().argument;
  return {static_cast<SyncOperation>(argument[0]),
          argument[1],
          argument[2],
          argument[3],
          argument[4],
          argument[5],
          argument[6],
          argument[7],
          argument[8]};
}

std::uint64_t do_sync_work(Session& s) {
  const SyncWork work = SyncWork::load(s.board);
  must(s.g.barrier());
  const std::uint64_t time_ns = s.g.node_count() == 1 ? in_the_node(s, work) : between_nodes(s, work);
  must(s.g.barrier());
  return time_ns;
}

}  // namespace grapnel::bench
