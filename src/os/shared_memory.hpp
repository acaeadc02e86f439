// Memory that processes share without a name: memfd, so that nothing is left behind whatever is killed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "grapnel/status.hpp"
#include "os/descriptor.hpp"

namespace grapnel::os {

/// A new anonymous file of `bytes` bytes (sparse: no memory is taken yet), close-on-exec. `label` shows in
/// /proc/PID/maps. Errors: unavailable (the limit of a file's length, ulimit -f), system.
Result<Descriptor> create_shared_file(const char* label, std::size_t bytes);

/// Takes the memory behind [offset, offset+bytes) of `file` now (fallocate), so that touching it later cannot fail.
/// Errors: no_memory, with nothing taken. The caller has asked `check_memory_available` before.
Status reserve_shared_file(const Descriptor& file, std::size_t offset, std::size_t bytes);

/// Gives the memory behind [offset, offset+bytes) back; it reads as zero afterwards. Errors: system.
Status release_shared_file(const Descriptor& file, std::size_t offset, std::size_t bytes);

/// Enters the pages of a range of a mapping into the page tables, by one system call in place of a fault at each page's
/// first write. A hint: where the kernel (before 5.14) or the range does not permit it, the first writes do it.
void prepare_writes(void* begin, std::size_t bytes);

/// What can still be taken, and what sets the limit ("MemAvailable", "memory.max of /sys/fs/cgroup/job").
struct MemoryLimit {
  std::size_t available_bytes = 0;
  std::string source;
};

/// The least of MemAvailable and the headroom of every memory cgroup (v1 and v2) above this process. Page cache that
/// the kernel would drop counts as available. Cost: reads some files of /proc and /sys, about 100 µs.
MemoryLimit tightest_memory_limit();

/// What can still be taken: the bytes of `tightest_memory_limit`.
std::size_t memory_available();

/// no_memory, with the figures and the limit's name, if `limit` does not leave room for `bytes` and a reserve that
/// keeps the machine alive: the larger of 64 MiB and 1 % of what is available. For limits that another process has
/// read.
Status check_memory_limit(std::size_t bytes, const MemoryLimit& limit);

/// no_memory, with the figures and the limit that is in the way, if less than `bytes` (and a reserve that keeps the
/// machine alive) is available.
Status check_memory_available(std::size_t bytes);

/// A mapping of a whole shared file at an address of the kernel's choice; unmapped by the destructor.
class Mapping {
 public:
  Mapping() = default;
  static Result<Mapping> create(const Descriptor& file, std::size_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  void* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace grapnel::os
