// SPDX-License-Identifier: Apache-2.0
#include "scenarios/lock_metrics.hpp"

#include <cstring>

#include "pairs.hpp"
#include "scenarios/lock_user.hpp"

namespace grapnel::bench {
namespace {

constexpr std::uint64_t kSharedBit = 1 << 8;

LockSet& set_of(Session& s, LockKind kind) {
  const auto found = s.locks.find(kind);
  if (found != s.locks.end()) return found->second;
  auto created = s.g.create_lock_set(kLocksPerRank, {.kind = kind});
  if (!created) fail(created.status());
  return s.locks.emplace(kind, *created).first->second;
}

LockNumbers measure(Session& s, const LockWork& work, LockUser user) {
  switch (work.operation) {
    case LockOperation::overhead: return measure_overhead(s, work, user);
    case LockOperation::nonblocking: return measure_nonblocking(s, work, user);
    case LockOperation::delay: return measure_delay(s, work, user);
    case LockOperation::load: return measure_load(s, work, user);
    case LockOperation::counts: return measure_counts(s, user);
    case LockOperation::computing: return measure_computing(s, work, user);
  }
  return {};
}

}  // namespace

void LockWork::store(SharedPage& board) const {
  std::uint64_t* const argument = board.page().argument;
  argument[0] = static_cast<std::uint64_t>(operation);
  argument[1] = static_cast<std::uint64_t>(kind) | (shared ? kSharedBit : 0);
  argument[2] = static_cast<std::uint64_t>(layout);
  argument[3] = origins;
  argument[4] = window_us;
  argument[5] = extra;
}

LockWork LockWork::load(SharedPage& board) {
  const std::uint64_t* const argument = board.page().argument;
  return {static_cast<LockOperation>(argument[0]),
          static_cast<LockKind>(argument[1] & (kSharedBit - 1)),
          (argument[1] & kSharedBit) != 0,
          static_cast<LockLayout>(argument[2]),
          argument[3],
          argument[4],
          argument[5]};
}

std::uint64_t common_time_ns(Session& s) {
  const std::uint64_t mine_ns = now_ns();
  const auto all = s.g.allgather(s.g.world(), std::as_bytes(std::span(&mine_ns, 1)));
  if (!all) fail(all.status());
  std::uint64_t first_ns = 0;
  std::memcpy(&first_ns, all->front().data(), sizeof first_ns);
  return first_ns;
}

void compute_until_ns(std::uint64_t time_ns) {
  volatile double x = 1;
  while (now_ns() < time_ns) x = x * 1.0000001 + 1e-9;
}

double messages_so_far(Session& s, const LockSet& set, std::uint64_t settle_us) {
  must(s.g.barrier());
  sleep_until_ns(now_ns() + settle_us * 1000);
  const LockCounts counts = set.counts();
  return sum_of_all(s, counts.messages + counts.server_messages);
}

std::uint64_t do_lock_metrics(Session& s) {
  const LockWork work = LockWork::load(s.board);
  const std::uint64_t begin_ns = now_ns();
  LockSet& set = set_of(s, work.kind);
  must(s.g.barrier());
  const LockNumbers mine = measure(s, work, {set, work.shared});
  const auto all = s.g.allgather(s.g.world(), std::as_bytes(std::span(mine)));
  if (!all) fail(all.status());
  LockNumbers sum{};
  for (const Bytes& one : *all) {
    LockNumbers theirs;
    std::memcpy(theirs.data(), one.data(), sizeof theirs);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += theirs[i];
  }
  if (index(s.g.rank()) == 0) std::copy(sum.begin(), sum.end(), s.board.page().number);
  return now_ns() - begin_ns;
}

}  // namespace grapnel::bench
