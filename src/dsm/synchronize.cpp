// Locks and barriers of the heap: a release, the lock or barrier with what it carries, an acquire.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "dsm/heap.hpp"
#include "dsm/node_turn.hpp"
#include "dsm/planted.hpp"
#include "dsm/protocol.hpp"

namespace grapnel::dsm {
namespace {

/// Runs of pages that a grant offers at most; 400 bytes hold as many as fit.
constexpr std::size_t kMostRunsGiven = 128;

}  // namespace

Status Heap::check_lock(int number) const {
  if (number >= 0 && static_cast<std::uint32_t>(number) < parts_.lock_count) return {};
  return Status(Code::invalid_argument,
                fmt::format("lock {} of the shared heap: it has the locks 0..{}", number, parts_.lock_count - 1));
}

// The releaser's node, then what it knows.
Result<Bytes> Heap::grant() {
  Bytes payload{static_cast<std::byte>(me_)};
  GRAPNEL_ASSIGN_OR_RETURN(Clock clock, log_.clock());
  const Bytes rest = encode(Grant{std::move(clock), log_.newest(kMostRunsGiven)});
  payload.insert(payload.end(), rest.begin(), rest.end());
  return payload;
}

Status Heap::acquire_with(int number, ByteView payload) {
  if (!payload.empty()) {
    const auto from = static_cast<std::size_t>(payload[0]);
    const auto grant = decode_grant(payload.subspan(1), memory_.node_count(), memory_.page_count());
    if (!grant || from >= memory_.node_count()) {
      disbelieve(fmt::format("the last holder of lock {} left what is no grant", number));
    }
    GRAPNEL_TRY(learn(*grant, from));
  }
  unmap_stale();
  return {};
}

Status Heap::lock(int number) {
  GRAPNEL_TRY(check_lock(number));
  counts_.locks.add(1);
  if (one_node()) return parts_.locks->acquire(lock_index(number), lock_home(number));
  const Stopwatch watch(core_.host, counts_.lock);
  Bytes payload;
  GRAPNEL_TRY(parts_.locks->acquire(lock_index(number), lock_home(number), {}, &payload));
  return acquire_with(number, payload);
}

Result<bool> Heap::try_lock(int number) {
  GRAPNEL_TRY(check_lock(number));
  Bytes payload;
  GRAPNEL_ASSIGN_OR_RETURN(const bool got, parts_.locks->attempt(lock_index(number), lock_home(number), {}, &payload));
  if (!got) return false;
  counts_.locks.add(1);
  if (one_node()) return true;
  const Stopwatch watch(core_.host, counts_.lock);
  GRAPNEL_TRY(acquire_with(number, payload));
  return true;
}

Status Heap::unlock(int number) {
  GRAPNEL_TRY(check_lock(number));
  if (one_node()) return parts_.locks->release(lock_index(number), lock_home(number));
  const Stopwatch watch(core_.host, counts_.lock);
  GRAPNEL_TRY(release_writes());
  GRAPNEL_ASSIGN_OR_RETURN(const Bytes payload, grant());
  return parts_.locks->release(lock_index(number), lock_home(number), false, payload);
}

Status Heap::barrier(int number) {
  counts_.barriers.add(1);
  const Stopwatch watch(core_.host, counts_.barrier);
  NodeNews news;
  if (!one_node()) {
    GRAPNEL_TRY(release_writes());
    news.latest = log_.known(me_);
    news.complete = std::exchange(runs_since_barrier_, 0) <= kMostRunsKept;
    news.intervals = std::exchange(since_barrier_, {});
    news.wants_cleaning = protocol_->wants_cleaning();
    news.moves = proposals();
    // Before this rank arrives: a request of the next era makes sense only once all ranks of the node have.
    memory_.node().arrivals.fetch_add(1, std::memory_order_release);
  }
  const Bytes mine = encode({index(core_.launch.rank()), static_cast<std::uint32_t>(number)}, me_, news);
  // Refused: it took place, but an earlier put of this rank's was declined.
  Status passed = barriers_.run(core_.world, {parts_.combine, mine});
  if (!passed.ok() && passed.code() != Code::refused) return passed;
  if (report_ != nullptr) report_->end_era();
  const auto meeting = decode_meeting(barriers_.joined(core_.world), memory_.node_count(), memory_.page_count());
  if (!meeting) disbelieve("a rank brings to a barrier what is no news of its node");
  GRAPNEL_TRY(check_numbers(*meeting));
  if (one_node()) return passed;
  GRAPNEL_TRY(take_node_step(*meeting));
  if (meeting->wants_cleaning()) GRAPNEL_TRY(protocol_->clean_up());
  unmap_moved(*meeting);
  unmap_stale();
  return passed;
}

Status Heap::check_numbers(const Meeting& meeting) {
  const auto& [first, other] = std::pair(meeting.first, meeting.other);
  if (first.number == other.number) return {};
  core_.launch.abort(
      1, fmt::format("barriers of the shared heap differ: rank {} is at barrier {}, rank {} at barrier {}", first.rank,
                     static_cast<std::int32_t>(first.number), other.rank, static_cast<std::int32_t>(other.number)));
  std::abort();
}

// The first rank of a node to leave the barrier learns for all of them, so that no other node is asked twice; and moves
// the homes.
Status Heap::take_node_step(const Meeting& meeting) {
  NodeWords& node = memory_.node();
  const std::uint32_t before = barriers_done_++;
  return once_per_node(core_, node.step_begun, node.step_done, before, [&]() -> Status {
    if (planted(Bug::moved_before_news)) GRAPNEL_TRY(apply_moves(meeting, before + 1));
    GRAPNEL_TRY(learn(meeting));
    return planted(Bug::moved_before_news) ? Status() : apply_moves(meeting, before + 1);
  });
}

}  // namespace grapnel::dsm
