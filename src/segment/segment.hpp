// Memory that other ranks can reach: allocated together, mapped by the ranks of a node at one address, known by bounds.
//
// An allocation has one part per member. The parts of a node's members lie in one shared file (memfd) that every
// member of the node, and the node's leader for its server, maps at the same address of the node's pool; the descriptor
// is closed again, so an allocation costs a node one file and no open descriptor.
//
// Invariants:
//  1. A granule of the pool belongs to at most one segment; `end_of_granule_` holds its segment's end, or 0.
//  2. What `contains` grants stays mapped until the last `Pin` taken before is gone, and the last landing begun under
//  one.
//  3. A failed allocation leaves nothing behind on any rank, and every member gets the same answer.
//
// Threads: `contains` and `Pin` from any thread; allocate and free from one thread at a time, collectively, in the same
// order by all members.
// Source: armci-multiprotocol, section 2 (ARMCI_Malloc in shared memory).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "os/address_pool.hpp"
#include "os/host.hpp"
#include "segment/landings.hpp"
#include "segment/pin_lock.hpp"
#include "segment/range_allocator.hpp"
#include "transport/transport.hpp"

namespace grapnel::segment {

/// One member's memory, at its address in its node; null and 0 for a member that asked for nothing.
struct Part {
  void* address = nullptr;
  std::size_t bytes = 0;
};

struct Allocation {
  std::vector<Part> parts;  ///< by group index
};

/// Where an address of a rank of another node lies, for a native put or get.
struct RemoteRegion {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  ByteView key;  ///< what `transport::Worker::import_key` takes; empty where the transport has no native operations
  std::uint64_t id = 0;  ///< names this region for as long as the job lasts; never used again
};

class SegmentTable {
 public:
  /// `exchange` serves allocate and free; `host` waits; `transport` (may be null) registers what the leader maps, for
  /// native access. Carves from the node's memory: every rank of a node constructs it at the same place in the order.
  SegmentTable(launch::Launch& launch, launch::Exchange& exchange, os::Host& host, transport::Transport* transport);
  ~SegmentTable();

  /// Collective over the group: `bytes` (may be 0, may differ) of zeroed memory for the caller. The memory is taken now
  /// or refused now: no_memory names what is available and what is in the way. unavailable: the group has a member on a
  /// node but not that node's leader. Every member gets the same answer. Cost: three exchanges.
  Result<Allocation> allocate(const launch::Group& group, std::size_t bytes);

  /// Collective over the group that allocated: gives the allocation back whose part of the caller begins at `address`.
  /// A caller whose part was empty passes null and the allocations with empty parts are matched by their order. The
  /// caller has completed its own operations to it. Errors: invalid_argument (nothing begins there; double free; the
  /// members mean different allocations): then nothing is freed, and every member gets this answer. Cost: two
  /// exchanges.
  Status free(const launch::Group& group, void* address);

  /// True when [address, address+bytes) lies in one live segment of this node. One load; any thread.
  bool contains(const void* address, std::size_t bytes) const {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - pool_base_;
    if (offset >= pool_bytes_) return false;  // also addresses below the pool: the difference wraps
    // Pairs with the release store in `publish_range`. `end - offset` cannot wrap where the first test holds.
    const std::uintptr_t end = end_of_granule_[offset / os::kPoolGranuleBytes].load(std::memory_order_acquire);
    return offset < end && bytes <= end - offset;
  }

  /// Keeps every segment mapped while a server's handler works on it. A thread holds one Pin at a time: a `free` that
  /// waits lets no second one in.
  using Pin = std::shared_lock<PinLock>;
  Pin pin() const { return Pin(unmap_lock_); }

  /// A bulk payload begins to land in a segment: under a Pin, after `contains`. That memory stays mapped until
  /// `landing_ends` with the same range; the Pin need not be kept.
  void landing_begins(const void* place, std::size_t bytes) {
    landings_.begin(reinterpret_cast<std::uintptr_t>(place), bytes);
  }
  void landing_ends(const void* place, std::size_t bytes) {
    landings_.end(reinterpret_cast<std::uintptr_t>(place), bytes);
  }

  /// The segment of another node that holds [address, address+bytes) of that node, or null. Stays valid until the
  /// allocation is freed. Any thread.
  const RemoteRegion* find_remote(NodeId node, std::uintptr_t address, std::size_t bytes) const;

  std::size_t live_allocations() const;

 private:
  /// An allocation's name, alike in all members: the group's key and how many the group had asked for before.
  using LiveKey = std::pair<std::uint64_t, std::uint64_t>;
  struct Live;
  struct Attempt;  // allocate.cpp

  // allocate.cpp: the steps of an allocation, in this order; between the first three lies an exchange.
  Status agree_on_plan(Attempt& attempt, std::size_t bytes);
  Status claim_range(Attempt& attempt);
  Status agree_on_claims(Attempt& attempt, const Status& mine);
  Status map_node(Attempt& attempt);
  Status agree_on_outcomes(Attempt& attempt, const Status& mine);
  void give_up(Attempt& attempt);
  Allocation remember(Attempt& attempt);

  // free.cpp
  Result<LiveKey> agree_on_victim(const launch::Group& group, void* address);

  void publish_range(std::size_t offset, std::size_t bytes);
  /// Undoes what this rank alone did for an allocation: registration, mapping, what `contains` and `find_remote` know.
  void withdraw(Live& live);

  launch::Launch& launch_;
  launch::Exchange& exchange_;
  transport::Transport* transport_;
  std::uintptr_t pool_base_;
  std::size_t pool_bytes_;
  std::atomic<std::uintptr_t>* end_of_granule_ = nullptr;  ///< by granule: the segment's end as an offset, or 0
  RangeAllocator ranges_;
  mutable PinLock unmap_lock_;
  Landings landings_;
  mutable std::shared_mutex remote_mutex_;                      ///< guards remote_; nobody waits or yields under it
  std::vector<std::map<std::uintptr_t, RemoteRegion>> remote_;  ///< by node, by begin
  std::map<LiveKey, std::unique_ptr<Live>> live_;
  std::map<void*, LiveKey> by_my_address_;              ///< allocations in which this rank has memory
  std::map<std::uint64_t, std::uint64_t> next_number_;  ///< by group key; the second half of the next LiveKey
  std::uint64_t next_region_ = 0;
};

}  // namespace grapnel::segment
