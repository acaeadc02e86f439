// What the ranks of a node share for their barriers: an entry per group, in node memory.
//
//   a rank      fence if the plan says so ─▶ add dirty, payload ─▶ arrived += 1
//               ─▶ the last one: launch ─▶ wait on gate
//
//   the server  takes launched entries ─▶ rounds with other nodes ─▶ results
//               ─▶ arrived = 0 ─▶ opens the gate
//
//   a rank of a group on one node      payload ─▶ gate += 1 ─▶ wait on gate
//
//   gate (progress/gate.hpp): barriers done, or, for a group on one node, arrivals so far
//
// Where no other node has to be asked, the last arrival is what opens the gate: so a barrier of two ranks
// takes the gate's line once there and back, like the bare words of two that wait for each other in turn.
//
// Invariants:
//  1. The contributions of an entry are written between the gate's opening and the last arrival, by ranks; the results
//     between the last arrival and the gate's opening, by one thread. `arrived` (acq_rel) and `gate` (release,
//     acquire) order the two. On one node there are no results but what payloads were joined to.
//  2. All ranks of a node that hold an entry are members of its group and have done the same number of its barriers; so
//     an entry that was released and taken again continues at its members' own counts.
//  3. An entry is in the list of launched ones once per barrier: `next` belongs to the list from launch to gate.
//
// Threads: any; `attach` and `release` take the table's lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "grapnel/barrier.hpp"
#include "grapnel/status.hpp"
#include "launch/group_entries.hpp"
#include "launch/launch.hpp"
#include "launch/node_mutex.hpp"
#include "os/host.hpp"
#include "progress/gate.hpp"
#include "progress/waiting.hpp"

namespace grapnel::sync {

struct alignas(64) BarrierEntry {
  std::uint64_t key = 0;         ///< of the group; under the table's lock
  std::uint32_t references = 0;  ///< ranks of this node that hold it; 0: free. Under the table's lock
  // Contributions.
  os::Word arrived;
  os::Word most_dirty;
  os::Word plan;  ///< BarrierPlan; every rank stores the same
  std::atomic<std::uint64_t> dirty;
  os::Word payload;  ///< 1 + the number of its payload area; 0: none yet. Kept until the release
  os::Word combine;  ///< for the server: number of the function that joins payloads; 0: this barrier has none
  os::Word next;     ///< 1 + the number of the next launched entry; 0: the last
  // Results.
  alignas(64) progress::Gate gate;
  os::Word next_plan;
  std::atomic<std::uint64_t> refused;
};

/// Payloads of the local ranks, joined; and the result of all nodes. Two of the former, by the parity of the barrier's
/// number: a quick rank writes for barrier n+1 while a slow one still reads n, and cannot reach n+2 before all have
/// left n.
struct alignas(64) PayloadArea {
  static constexpr std::size_t kMostBytes = kMostBarrierPayload;
  struct Joined {
    std::uint32_t count;  ///< of the barrier, as `done` counts; of another: there is nothing yet
    std::uint32_t bytes;
    std::byte content[kMostBytes];

    ByteView of(std::uint32_t barrier) const { return count == barrier ? ByteView(content, bytes) : ByteView(); }
  };
  static constexpr std::uint32_t kNoBarrier = UINT32_MAX;

  os::Word lock;  ///< held while a rank joins its payload
  os::Word out_bytes;
  Joined in[2];  ///< by the parity of the barrier's count; under `lock` until the last arrival
  std::byte out[kMostBytes];
};

class BarrierWords {
 public:
  static constexpr std::uint32_t kEntries = 4096;
  static constexpr std::uint32_t kPayloadAreas = 64;
  static constexpr std::size_t kOwnBytes = 256;
  static constexpr std::size_t kNodeMemoryBytes =
      kOwnBytes + kEntries * sizeof(BarrierEntry) + kPayloadAreas * sizeof(PayloadArea);

  /// Collective in the order of carving.
  BarrierWords(launch::Launch& launch, progress::Waiting& waiting);

  /// GroupEntries::attach; a new entry's gate starts with `count`.
  Result<std::uint32_t> attach(std::uint64_t key, std::uint32_t count,
                               const std::function<Status(std::uint32_t)>& on_new);
  /// GroupEntries::release.
  Status release(std::uint32_t number, const std::function<Status()>& on_last);

  BarrierEntry& entry(std::uint32_t number) { return entries_[number]; }

  /// The entry's payload area, taken at its first use. Errors: unavailable when kPayloadAreas groups have one;
  /// peer_dead.
  Result<PayloadArea*> payload_area(BarrierEntry& entry);
  /// Null where none was asked for.
  PayloadArea* find_payload_area(BarrierEntry& entry);

  /// Runs `join` while no other rank of the node does so for this area. Errors: peer_dead.
  template <typename Join>
  Status with_area(PayloadArea& area, Join join) {
    launch::NodeMutex mutex(launch_, waiting_.host(), area.lock);
    const auto guard = mutex.lock();
    if (!guard) return guard.status();
    join();
    return {};
  }

  /// To the server: all members of this node have arrived.
  void launch(std::uint32_t number);
  /// Calls `take(number)` for each entry launched since; true when there was one. The server's.
  template <typename Take>
  bool take_launched(Take take) {
    // seq_cst: pairs with `launch` and the server's mark that it sleeps (progress/internal/doorbell.hpp).
    if (words_.launched.load(std::memory_order_seq_cst) == 0) return false;
    std::uint32_t next = words_.launched.exchange(0, std::memory_order_acq_rel);
    while (next != 0) {
      const std::uint32_t number = next - 1;
      next = entries_[number].next.load(std::memory_order_relaxed);  // ordered by the exchange
      take(number);
    }
    return true;
  }

  /// Opens the gate of an entry whose results are written; wakes the sleepers.
  void open(BarrierEntry& entry);

  /// Half a round trip between servers, ns, as this node measured it; 0: not yet.
  os::Word& delay_ns() { return words_.delay_ns; }

 private:
  struct alignas(64) Words {
    launch::GroupEntriesWords entries;
    std::atomic<std::uint64_t> areas_used;
    os::Word delay_ns;
    alignas(64) os::Word launched;  ///< 1 + the number of the entry launched last; 0: none
  };

  static_assert(sizeof(Words) <= kOwnBytes);

  launch::Launch& launch_;
  progress::Waiting& waiting_;
  Words& words_;
  launch::GroupEntries<BarrierEntry> entries_;  ///< its lock is that of the areas, too
  std::span<PayloadArea> areas_;
};

}  // namespace grapnel::sync
