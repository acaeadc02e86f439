// Memory that other ranks can reach: allocated together, mapped by the ranks of a node at one address, known by bounds.
//
// A node has one shared file (memfd) as long as its pool of addresses, and every rank of the node maps it there once,
// at start: nothing is in it yet. An allocation has one part per member; the parts of a node's members lie in one range
// of that file, whose memory is taken then and given back by `free`. So an allocation costs neither a descriptor nor a
// mapping, and all ranks of the node and its server reach it, also those that are no members.
//
// Invariants:
//  1. A granule of the pool belongs to at most one segment; `end_of_granule_` holds its segment's end, or 0. The end of
//     one in the network domain is odd: a page behind its parts belongs to it, less the last byte.
//  2. What `contains` grants belongs to no other segment until the last `Pin` taken before is gone, and the last
//     landing begun under one.
//  3. A failed allocation leaves nothing behind on any rank, and every member gets the same answer.
//  4. Memory is zero when it is handed out, whatever was written to its addresses since it was last given back.
//
// Threads: `contains` and `Pin` from any thread; allocate and free from one thread at a time, collectively, in the same
// order by all members.
// Source: armci-multiprotocol, section 2 (ARMCI_Malloc in shared memory).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "exchange/exchange.hpp"
#include "grapnel/atomic_domain.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "os/address_pool.hpp"
#include "os/descriptor.hpp"
#include "os/host.hpp"
#include "os/shared_memory.hpp"
#include "segment/internal/bulk_receives.hpp"
#include "segment/internal/pin_lock.hpp"
#include "segment/internal/range_allocator.hpp"
#include "transport/transport.hpp"

namespace grapnel::segment {

/// One member's memory, at its address in its node; null and 0 for a member that asked for nothing.
struct Part {
  void* address = nullptr;
  std::size_t bytes = 0;
};

/// When an allocation's memory is taken: with it, or piece by piece (`take`). The latter has addresses, and no other
/// layer's call reaches it.
enum class Taking { at_once, on_use };

struct Allocation {
  std::vector<Part> parts;  ///< by group index
};

/// Where an address of a rank of another node lies, for a native put or get.
struct RemoteRegion {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  ByteView key;  ///< what `transport::Worker::import_key` takes; empty where the transport has no native operations
  std::uint64_t id = 0;  ///< names this region for as long as the job lasts; never used again
  AtomicDomain domain = AtomicDomain::processor;
};

/// Which addresses lie in live segments of this node, for as long as its table lives. A caller that asks at each
/// operation keeps a copy in an object of its own: that is one dependent load less, and after a put of some KiB each
/// load waits behind the put's stores.
class Reach {
 public:
  Reach(std::uintptr_t pool_base, std::size_t pool_bytes, const std::atomic<std::uintptr_t>* end_of_granule)
      : pool_base_(pool_base), pool_bytes_(pool_bytes), end_of_granule_(end_of_granule) {}

  /// True when [address, address+bytes) lies in one live segment. One load.
  bool contains(const void* address, std::size_t bytes) const {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - pool_base_;
    if (offset >= pool_bytes_) return false;  // also addresses below the pool: the difference wraps
    // Pairs with the release store in `publish_range`. `end - offset` cannot wrap where the first test holds.
    const std::uintptr_t end = end_of_granule_[offset / os::kPoolGranuleBytes].load(std::memory_order_acquire);
    return offset < end && bytes <= end - offset;
  }

  /// The same, and the processor may update it: the segment is not in the network domain. As cheap.
  bool contains_for_updates(const void* address, std::size_t bytes) const {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - pool_base_;
    if (offset >= pool_bytes_) return false;
    const std::uintptr_t end = end_of_granule_[offset / os::kPoolGranuleBytes].load(std::memory_order_acquire);
    return offset < end && bytes <= end - offset && end % 2 == 0;  // pairs as in `contains`
  }

  /// Whether it lies in a live segment of this node that is in the network domain.
  bool is_network(const void* address) const { return contains(address, 1) && !contains_for_updates(address, 1); }

  /// The end of the live segment that holds `address`; 0 where none does. For ranks that do not know it.
  std::uintptr_t end_of_segment(const void* address) const {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - pool_base_;
    if (offset >= pool_bytes_) return 0;
    const std::uintptr_t end = end_of_granule_[offset / os::kPoolGranuleBytes].load(std::memory_order_acquire);
    return offset < end ? pool_base_ + end : 0;  // pairs as in `contains`
  }

 private:
  std::uintptr_t pool_base_;
  std::size_t pool_bytes_;
  const std::atomic<std::uintptr_t>* end_of_granule_;
};

/// Of node memory: the map of taken ranges, and the table of bulk payloads that land.
std::size_t node_memory_bytes(const launch::NodeMap& nodes, NodeId node);

class SegmentTable {
 public:
  /// Collective over the node's ranks, each at the same place in the order of carving from the node's memory.
  /// `exchange` serves allocate and free; `host` waits; `transport` (may be null) registers what the leader allocates,
  /// for native access. Errors: unavailable (a limit on the length of files), timed_out, peer_dead, system.
  static Result<std::unique_ptr<SegmentTable>> create(launch::Launch& launch, exchange::Exchange& exchange,
                                                      os::Host& host, transport::Transport* transport);
  ~SegmentTable();

  /// Collective over the group: `bytes` (may be 0, may differ) of zeroed memory for the caller. The memory is taken now
  /// or refused now: no_memory names what is available and what is in the way. Every member gets the same answer. Cost:
  /// three exchanges.
  /// In the network domain it is registered for native atomics: unavailable where the transport has none, or where the
  /// rank that leads a member's node is no member.
  Result<Allocation> allocate(const launch::Group& group, std::size_t bytes, Taking taking = Taking::at_once,
                              AtomicDomain domain = AtomicDomain::processor);
  /// Of an allocation `on_use`: takes the memory of [address, address+bytes), granules of the pool, so that touching it
  /// cannot fail. Any rank and thread of the node; to take what is taken changes nothing. Errors: no_memory, with the
  /// figures.
  Status take(const void* address, std::size_t bytes);
  /// Where memory of this node lies, for a second mapping: the file's descriptor and the place in it. Any thread.
  std::pair<int, std::uint64_t> place_in_file(const void* address) const;

  /// Collective over the group that allocated: gives the allocation back whose part of the caller begins at `address`.
  /// A caller whose part was empty passes null and the allocations with empty parts are matched by their order. The
  /// caller has completed its own operations to it. Errors: invalid_argument (nothing begins there; double free; the
  /// members mean different allocations): then nothing is freed, and every member gets this answer. Cost: two
  /// exchanges.
  Status free(const launch::Group& group, void* address);

  /// Any rank and thread.
  const Reach& reach() const { return reach_; }
  bool contains(const void* address, std::size_t bytes) const { return reach_.contains(address, bytes); }

  /// Keeps the addresses of every segment from being used again while a server's handler works on one. A thread holds
  /// one Pin at a time: a `free` that waits lets no second one in.
  using Pin = std::shared_lock<PinLock>;
  Pin pin() const { return Pin(withdraw_lock_); }

  /// A bulk payload begins to land in a segment: under a Pin, after `contains`. That memory belongs to no other segment
  /// until `landing_ends` with the same range; the Pin need not be kept.
  void landing_begins(const void* place, std::size_t bytes) {
    landings_.begin(reinterpret_cast<std::uintptr_t>(place), bytes);
  }
  void landing_ends(const void* place, std::size_t bytes) {
    landings_.end(reinterpret_cast<std::uintptr_t>(place), bytes);
  }

  /// The segment of another node that holds [address, address+bytes) of that node, or null; also null for an allocation
  /// of which this rank is no member. Of this node only those in the network domain are found. Stays valid until the
  /// allocation is freed. Any thread.
  const RemoteRegion* find_remote(NodeId node, std::uintptr_t address, std::size_t bytes) const;

  std::size_t live_allocations() const;

 private:
  /// An allocation's name, the same in all members: the group's key and how many the group had asked for before.
  using LiveKey = std::pair<std::uint64_t, std::uint64_t>;
  struct Live;
  struct Attempt;  // allocate.cpp

  /// What every rank of the node maps: the memory behind the pool, and the table of what is in it.
  struct NodeFiles {
    os::Descriptor memory;
    os::Mapping table;
  };
  static Result<NodeFiles> share_files(launch::Launch& launch);
  SegmentTable(launch::Launch& launch, exchange::Exchange& exchange, os::Host& host, transport::Transport* transport,
               NodeFiles files);

  // allocate.cpp: the steps of an allocation, in this order; between them lies an exchange.
  Status agree_on_plan(Attempt& attempt, std::size_t bytes);
  Status claim_range(Attempt& attempt);
  Status agree_on_claims(Attempt& attempt, const Status& mine);
  Status take_memory(Attempt& attempt);
  Status agree_on_outcomes(Attempt& attempt, const Status& mine);
  Allocation remember(Attempt& attempt);

  // free.cpp
  Result<LiveKey> agree_on_victim(const launch::Group& group, void* address);

  /// `end`: what the range's granules hold.
  void publish_range(std::size_t offset, std::size_t end);
  Status register_range(Live& live);
  Status check_leaders(const launch::Group& group) const;
  /// The node's part of an allocation is gone: for `contains`, its memory, its addresses. By the rank that claimed it.
  Status give_back(const Live& live);
  /// Undoes what this rank did for itself: registration, what `find_remote` knows.
  void forget(Live& live);

  launch::Launch& launch_;
  exchange::Exchange& exchange_;
  transport::Transport* transport_;
  std::uintptr_t pool_base_;
  NodeFiles files_;
  std::atomic<std::uintptr_t>* end_of_granule_;  ///< in `files_.table`, by granule: its segment's end as offset, or 0
  Reach reach_;
  RangeAllocator ranges_;
  mutable PinLock withdraw_lock_;
  BulkReceives landings_;
  mutable base::SharedMutex remote_mutex_;  ///< no thread waits or yields under it
  std::vector<std::map<std::uintptr_t, RemoteRegion>> remote_ GRAPNEL_GUARDED_BY(remote_mutex_);  ///< by node, by begin
  std::map<LiveKey, std::unique_ptr<Live>> live_;
  std::map<void*, LiveKey> by_my_address_;              ///< allocations in which this rank has memory
  std::map<std::uint64_t, std::uint64_t> next_number_;  ///< by group key; the second half of the next LiveKey
  std::uint64_t next_region_ = 0;
};

}  // namespace grapnel::segment
