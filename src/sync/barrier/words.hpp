// What the ranks of a node share for their barriers: an entry per group, in node memory.
//
//   a rank:      fence if the plan says so ─▶ add dirty, payload ─▶ arrivals += 1 ─▶ the last one: launch ─▶ wait on
//   gate the server:  takes launched entries ─▶ rounds with other nodes ─▶ results ─▶ arrivals = 0 ─▶ opens the gate
//                (a group on one node: the last rank to arrive does this itself, without rounds)
//
//   gate:  ┌────────────────────────┬───┐
//          │ barriers done (31 bit) │ s │   s: somebody sleeps on the word; whoever opens it wakes only then
//          └────────────────────────┴───┘
//
// Invariants:
//  1. The contributions of an entry are written between the gate's opening and the last arrival, by ranks; the results
//     between the last arrival and the gate's opening, by one thread. `arrivals` (acq_rel) and `gate` (release,
//     acquire) order the two.
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
  os::Word arrived;  ///< where more than kFewRanks do; else `few_arrived`
  os::Word most_dirty;
  os::Word plan;  ///< BarrierPlan; every rank stores the same
  std::atomic<std::uint64_t> dirty;
  os::Word payload;  ///< 1 + the number of its payload area; 0: none yet. Kept until the release
  os::Word combine;  ///< number of the function that joins payloads; 0: this barrier has none
  os::Word next;     ///< 1 + the number of the next launched entry; 0: the last
  // Results.
  alignas(64) os::Word gate;
  os::Word next_plan;
  std::atomic<std::uint64_t> refused;
  // With the gate's line, which the last to arrive then has already: one way of a cache line less. Many ranks would
  // take it from each other, and from those that look at the gate; measured is two, the bound of four is a guess.
  os::Word few_arrived;

  static constexpr std::uint32_t kFewRanks = 4;
  os::Word& arrivals(std::uint32_t local_ranks) { return local_ranks <= kFewRanks ? few_arrived : arrived; }
};

/// Payloads of the local ranks, joined; and the result of all nodes.
struct alignas(64) PayloadArea {
  static constexpr std::size_t kMostBytes = kMostBarrierPayload;
  os::Word lock;  ///< 1: somebody joins his payload
  os::Word in_bytes;
  os::Word out_bytes;
  std::byte in[kMostBytes];
  std::byte out[kMostBytes];
};

class BarrierWords {
 public:
  static constexpr std::uint32_t kEntries = 4096;
  static constexpr std::uint32_t kPayloadAreas = 64;

  /// Collective in the order of carving.
  BarrierWords(launch::Launch& launch, progress::Waiting& waiting);

  /// The entry of a group, taken once by each rank of this node that uses it; a new one starts with `done` barriers.
  /// `on_new(number)` runs for the first rank of the node, before any other gets the entry; what it answers ends the
  /// call. Errors: unavailable when kEntries groups have barriers on this node; peer_dead.
  Result<std::uint32_t> attach(std::uint64_t key, std::uint32_t done,
                               const std::function<Status(std::uint32_t)>& on_new);
  /// `on_last` runs for the last rank of the node that held it, before the entry is anybody's.
  Status release(std::uint32_t number, const std::function<Status()>& on_last);

  BarrierEntry& entry(std::uint32_t number) { return entries_[number]; }
  /// Barriers done, modulo 2³¹.
  static std::uint32_t done(std::uint32_t gate) { return gate >> 1; }
  static constexpr std::uint32_t kCountMask = 0x7fffffff;
  /// Whether a gate has opened for barrier number `count` (from 1).
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

  /// A group of one node: what its ranks joined is the result.
  void pass_payload_on(BarrierEntry& entry);

  /// To the server: everybody of this node has arrived.
  void launch(std::uint32_t number);
  /// Calls `take(number)` for each entry launched since; true when there was one. The server's.
  template <typename Take>
  bool take_launched(Take take) {
    // seq_cst: pairs with `launch` and the server's mark that it sleeps (progress/bell.hpp).
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
  Status take_lock(os::Word& lock);
  void drop_lock(os::Word& lock);

  progress::Waiting& waiting_;
  Words& words_;
  std::span<BarrierEntry> entries_;
  std::span<PayloadArea> areas_;
};

}  // namespace grapnel::sync
