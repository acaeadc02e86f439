// A range of addresses, set aside at start, in which the ranks of a node map shared memory at the same address.
//
// The range is reserved with PROT_NONE and no memory behind it. The ranks of one process (simulated worlds) share one
// pool object, so a mapping is counted and ends when its last user unmaps it. Any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "base/mutex.hpp"
#include "grapnel/status.hpp"
#include "os/descriptor.hpp"

namespace grapnel::os {

/// Mappings begin at multiples of this many bytes from the pool's base.
inline constexpr std::size_t kPoolGranuleBytes = 64 * 1024;

class AddressPool {
 public:
  /// Bases to try in turn; the first lies where the sanitizers leave room and no loader puts libraries.
  static std::span<const std::uintptr_t> candidate_bases();
  /// To be added to a candidate, so that a stranger on the network cannot know where segments lie: random, a multiple
  /// of the granule, below kShiftBytes.
  static std::uintptr_t random_shift();
  static constexpr std::uintptr_t kShiftBytes = std::uintptr_t{64} << 30;

  /// Reserves [base, base+bytes) with MAP_FIXED_NOREPLACE; base 0: anywhere. Errors: unavailable when something is
  /// there.
  static Result<std::unique_ptr<AddressPool>> reserve(std::uintptr_t base, std::size_t bytes);
  ~AddressPool();
  AddressPool(const AddressPool&) = delete;
  AddressPool& operator=(const AddressPool&) = delete;

  std::uintptr_t base() const { return base_; }
  std::size_t bytes() const { return bytes_; }

  /// Maps the first `bytes` of `file` readable and writable at `address` (inside the pool, at a granule), not inherited
  /// by fork and left out of core dumps. A second call for the same address and file counts one user more.
  /// Errors: invalid_argument (outside the pool, not at a granule, something else is mapped there), no_memory (the
  /// kernel's limit of mappings), system.
  Status map(const Descriptor& file, std::uintptr_t address, std::size_t bytes);

  /// One user less; the last one makes the range inaccessible again and gives its memory back.
  void unmap(std::uintptr_t address);

 private:
  struct Mapped {
    std::size_t bytes;
    std::uint64_t file;  ///< the file's inode: a second user must bring the same
    int users;
  };
  AddressPool(std::uintptr_t base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  Status check_range(std::uintptr_t address, std::size_t bytes) const;
  bool overlaps(std::uintptr_t address, std::size_t bytes) const GRAPNEL_REQUIRES(mutex_);

  const std::uintptr_t base_;
  const std::size_t bytes_;
  base::Mutex mutex_;
  std::map<std::uintptr_t, Mapped> mapped_ GRAPNEL_GUARDED_BY(mutex_);
};

}  // namespace grapnel::os
