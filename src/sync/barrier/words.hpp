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
//   gate:  ┌───────────────────────────────────────┬───┐
//          │ barriers done, or, for a group on one │ s │   s: somebody sleeps on the word; whoever opens it wakes only
//          │ node, arrivals so far (31 bit)        │   │   then
//          └───────────────────────────────────────┴───┘
//
// Where nobody has to be asked outside the node, the last arrival is what opens the gate: so a barrier of two ranks
// takes the gate's line once there and back, like the bare words of two that wait for each other in turn.
//
// Invariants:
//  1. The contributions of an entry are written between the gate's opening and the last arrival, by ranks; the results
//     between the last arrival and the gate's opening, by one thread. `arrived` (acq_rel) and `gate` (release,
//     acquire) order the two. On one node there are no results but what payloads were joined to.
//  2. All ranks of a node that hold an entry are members of its group and have done the same number of its barriers; so
//     an entry that was released and taken again goes on where its members' own counts say.
//  3. An entry is in the list of launched ones once per barrier: `next` belongs to the list from launch to gate.
//
// Threads: any; `attach` and `release` take the table's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "grapnel/barrier.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"
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
  alignas(64) os::Word gate;
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

  os::Word lock;  ///< 1: somebody joins his payload
  os::Word out_bytes;
  Joined in[2];  ///< by the parity of the barrier's count; under `lock` until the last arrival
  std::byte out[kMostBytes];
};

class BarrierWords {
 public:
  static constexpr std::uint32_t kEntries = 4096;
  static constexpr std::uint32_t kPayloadAreas = 64;

  /// Collective in the order of carving.
  BarrierWords(launch::Launch& launch, progress::Waiting& waiting);

  /// The entry of a group, taken once by each rank of this node that uses it; a new one's gate starts with `count`.
  /// `on_new(number)` runs for the first rank of the node, before any other gets the entry; what it answers ends the
  /// call. Errors: unavailable when kEntries groups have barriers on this node; peer_dead.
  Result<std::uint32_t> attach(std::uint64_t key, std::uint32_t count,
                               const std::function<Status(std::uint32_t)>& on_new);
  /// `on_last` runs for the last rank of the node that held it, before the entry is anybody's.
  Status release(std::uint32_t number, const std::function<Status()>& on_last);

  BarrierEntry& entry(std::uint32_t number) { return entries_[number]; }
  /// What a gate counts, modulo 2³¹.
  static std::uint32_t count(std::uint32_t gate) { return gate >> 1; }
  static constexpr std::uint32_t kCountMask = 0x7fffffff;
  /// Whether a gate has come to `count`.
  static bool passed(std::uint32_t gate, std::uint32_t count) {
    return static_cast<std::int32_t>((gate & ~std::uint32_t{1}) - (count << 1)) >= 0;
  }

  /// The entry's payload area, taken at its first use. Errors: unavailable when kPayloadAreas groups have one;
  /// peer_dead.
  Result<PayloadArea*> payload_area(BarrierEntry& entry);
  /// Null where nobody has asked for one.
  PayloadArea* find_payload_area(BarrierEntry& entry);

  /// Runs `join` while no other rank of the node does so for this area. Errors: peer_dead.
  template <typename Join>
  Status with_area(PayloadArea& area, Join join) {
    GRAPNEL_TRY(take_lock(area.lock));
    join();
    drop_lock(area.lock);
    return {};
  }

  /// To the server: everybody of this node has arrived.
  void launch(std::uint32_t number);
  /// Calls `take(number)` for each entry launched since; true when there was one. The server's.
  template <typename Take>
  bool take_launched(Take take) {
    // seq_cst: pairs with `launch` and the server's mark that it sleeps (progress/internal/bell.hpp).
    if (words_.launched.load(std::memory_order_seq_cst) == 0) return false;
    std::uint32_t next = words_.launched.exchange(0, std::memory_order_acq_rel);
    while (next != 0) {
      const std::uint32_t number = next - 1;
      next = entries_[number].next.load(std::memory_order_relaxed);  // ordered by the exchange
      take(number);
    }
    return true;
  }

  /// Opens the gate of an entry whose results are written; wakes who sleeps.
  void open(BarrierEntry& entry);
  /// A rank arrives, in a group on this node alone: the last one's arrival brings the gate to `count`, and wakes.
  void arrive_at_gate(BarrierEntry& entry, std::uint32_t count) {
    // acq_rel: whoever sees the gate there sees what all have done before they arrived.
    const std::uint32_t before = entry.gate.fetch_add(2, std::memory_order_acq_rel);
    if ((before & 1) != 0 && passed(before + 2, count)) wake_all(entry);
  }

  /// Half a round trip between servers, ns, as this node measured it; 0: not yet.
  os::Word& delay_ns() { return words_.delay_ns; }

 private:
  struct alignas(64) Words {
    os::Word lock;
    os::Word entries_used;  ///< the highest number ever taken, plus one
    std::atomic<std::uint64_t> areas_used;
    os::Word delay_ns;
    alignas(64) os::Word launched;  ///< 1 + the number of the entry launched last; 0: none
  };

  std::uint32_t find(std::uint64_t key) const;  ///< the group's entry, or the first free one
  void wake_all(BarrierEntry& entry);
  Status take_lock(os::Word& lock);
  void drop_lock(os::Word& lock);

  progress::Waiting& waiting_;
  Words& words_;
  std::span<BarrierEntry> entries_;
  std::span<PayloadArea> areas_;
};

}  // namespace grapnel::sync
