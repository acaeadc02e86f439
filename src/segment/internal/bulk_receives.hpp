// Where bulk payloads are landing in the node's segments: a rank that gives a segment's memory back waits until nothing
// lands there any more.
//
// A Pin cannot guard memory for as long as a payload takes: a rank that withdraws keeps the server, which must continue
// for the payload to land, from taking the next Pin. So the ranges are noted in node memory, because the server and the
// rank that frees may be different processes. The rank that frees first withdraws the segment and waits until no Pin is
// held: what lands there then was noted before, under a Pin, and nothing is added. BulkReceives in other segments do
// not delay that rank.
//
// Invariant: `kPerOrigin` payloads of an origin have a place at most, so as many slots per rank of the job are enough.
//
// Threads: `begin` and `end` from the node's server thread alone; `wait_until_clear` from any rank of the node.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "base/check.hpp"
#include "base/units.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"

namespace grapnel::segment {

class BulkReceives {
 public:
  /// Two that land, or one that lands and one that waits because it has the same place.
  static constexpr std::size_t kPerOrigin = 2;

  static constexpr std::size_t node_memory_bytes(std::size_t size) {
    return sizeof(Shared) + kPerOrigin * size * sizeof(Slot);
  }

  /// Carves out of the node's memory: every rank of a node constructs it at the same place in the order.
  BulkReceives(launch::Launch& launch, os::Host& host)
      : host_(host),
        shared_(launch.node_memory().carve<Shared>(1).front()),
        slots_(launch.node_memory().carve<Slot>(kPerOrigin * static_cast<std::size_t>(launch.size()))) {}
  BulkReceives(const BulkReceives&) = delete;
  BulkReceives& operator=(const BulkReceives&) = delete;

  /// Under a Pin, whose lock makes it known to a rank that withdraws later.
  void begin(std::uintptr_t address, std::size_t bytes) {
    const auto used = slots_.first(ever_used_);
    auto slot = std::find_if(used.begin(), used.end(), [](const Slot& one) { return one.end.load() == 0; });
    if (slot == used.end()) {
      GRAPNEL_CHECK(ever_used_ < slots_.size(), "{} payloads are landing, more than the ranks may send", ever_used_);
      slot = slots_.begin() + static_cast<std::ptrdiff_t>(ever_used_++);
    }
    slot->begin.store(address);
    slot->end.store(address + bytes);
  }

  /// With what `begin` got.
  void end(std::uintptr_t address, std::size_t bytes) {
    const auto used = slots_.first(ever_used_);
    const auto slot = std::find_if(used.begin(), used.end(), [&](const Slot& one) {
      return one.begin.load() == address && one.end.load() == address + bytes;
    });
    GRAPNEL_CHECK(slot != used.end(), "a payload of {} bytes ends that never began to land", bytes);
    slot->end.store(0);
    // In one order with the stores of `wait_until_clear`: either the waiter sees the free slot, or this sees the
    // waiter.
    if (shared_.waiters.load() == 0) return;
    shared_.changes.fetch_add(1);
    host_.wake(shared_.changes);
  }

  /// Returns when nothing lands in [begin, end), or when `gives_up()`.
  template <typename GivesUp>
  void wait_until_clear(std::uintptr_t begin, std::uintptr_t end, GivesUp gives_up) {
    if (!is_landing(begin, end)) return;
    shared_.waiters.fetch_add(1);
    for (;;) {
      const std::uint32_t seen = shared_.changes.load();
      if (!is_landing(begin, end) || gives_up()) break;
      host_.wait(shared_.changes, seen, 10 * base::kMillisecond_ns);
    }
    shared_.waiters.fetch_sub(1);
  }

 private:
  struct alignas(64) Shared {
    os::Word waiters;
    os::Word changes;
  };
  struct Slot {
    std::atomic<std::uintptr_t> begin;
    std::atomic<std::uintptr_t> end;  ///< 0: free
  };

  bool is_landing(std::uintptr_t begin, std::uintptr_t end) const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [&](const Slot& one) { return one.begin.load() < end && begin < one.end.load(); });
  }

  os::Host& host_;
  Shared& shared_;
  std::span<Slot> slots_;
  std::size_t ever_used_ = 0;  ///< slots that this process, the server's, has taken so far, free again or not
};

}  // namespace grapnel::segment
