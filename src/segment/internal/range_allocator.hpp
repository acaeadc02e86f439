// Which granules of the node's pool are taken: one bitmap in the node's memory, for all ranks of the node.
//
// Invariants:
//  1. Bit g is set exactly while granule g belongs to a range that `allocate` gave and `free` has not got back.
//  2. The bitmap and the cursor change only under the lock word.
//
// Next fit: the search continues behind the range given last, and wraps once. Addresses are therefore used again late,
// so that a use after free spoils no data for a while.
//
// The lock word (Drepper, "Futexes are tricky", third mutex): 0 free, 1 held, 2 held and someone may sleep. A holder
// that dies ends the job; a waiter looks at the job's health while it sleeps.
//
// Threads: any, in any rank of the node.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "launch/node_mutex.hpp"
#include "os/host.hpp"

namespace grapnel::segment {

class RangeAllocator {
 public:
  /// Of the longest pool.
  static std::size_t node_memory_bytes();

  /// Carves its words out of the node's memory: every rank of a node constructs it at the same place in the order.
  RangeAllocator(launch::Launch& launch, os::Host& host);

  /// A free range of at least `bytes` (> 0), as an offset into the pool, at a granule.
  /// Errors: no_memory naming the longest free range; peer_dead.
  Result<std::size_t> allocate(std::size_t bytes);

  /// Gives back what `allocate` gave for the same `bytes`. Errors: peer_dead. Anything else is a bug of ours.
  Status free(std::size_t offset, std::size_t bytes);

  /// The pool's granule, or a multiple of it where the pool is so large that its bitmap would not fit.
  std::size_t granule_bytes() const { return granule_bytes_; }

 private:
  struct Shared {
    os::Word lock;
    std::uint64_t cursor;  ///< the granule behind the range given last
  };

  std::size_t granule_bytes_;
  std::size_t granules_;
  Shared& shared_;
  std::span<std::uint64_t> words_;
  launch::NodeMutex mutex_;
};

}  // namespace grapnel::segment
