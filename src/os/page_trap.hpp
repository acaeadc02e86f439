// One rank's view of a range of shared memory whose pages it may reach only once they are mapped: an access to another
// page faults, and what was written to a mapped one can be asked for.
//
//             map(watched)          a write               collect
//   unmapped ─────────────▶ clean ──────────▶ written ─────────────▶ clean
//       ▲                     │ unmap            │ unmap
//       └─────────────────────┴──────────────────┘
//
// Three kinds: by userfaultfd (Linux 6.7 and newer: a first write costs no signal), by mprotect (everywhere), and by
// software (simulated worlds, whose ranks share one page table; software_trap.hpp).
//
// Threads: `map`, `unmap` and `collect` one at a time; `take_write` from any, beside them.
// Source: treadmarks-on-gm, section 2; docs/dsm.md has what each costs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grapnel/status.hpp"

namespace grapnel::os {

inline constexpr std::size_t kPageBytes = 4096;

/// Pages that follow each other, by their numbers in the range.
struct Pages {
  std::size_t first = 0, count = 0;
};

class PageTrap {
 public:
  virtual ~PageTrap() = default;

  /// Makes the pages accessible; those that are already stay as they are. `watched`: their later writes are collected.
  /// Else they count as written. Their memory has been taken. Errors: no_memory (the kernel's limit of mappings),
  /// system.
  virtual Status map(Pages pages, bool watched) = 0;
  /// The next access to each of them faults. Errors: as `map`.
  virtual Status unmap(Pages pages) = 0;
  /// Appends, ascending, the pages of these runs that this rank may have written since they were mapped or collected;
  /// they are clean and watched when it returns. A write during the call is in this answer or in the next one. The runs
  /// ascend, and all of their pages have been mapped and not unmapped since. Errors: system.
  virtual Status collect(std::span<const Pages> runs, std::vector<std::size_t>& written) = 0;
  /// At a fault: true where it was the first write to a clean page, which is now written; then nothing else is to do.
  virtual bool take_write(std::size_t page) = 0;
};

/// What a trap is made on: `bytes` of the file from `offset` on, at [base, base+bytes), which the caller has set aside.
struct TrapRange {
  int file = -1;
  std::uint64_t offset = 0;
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
};

/// Errors: unavailable, which says what the kernel or the container lacks; system.
Result<std::unique_ptr<PageTrap>> make_uffd_trap(const TrapRange& range);
Result<std::unique_ptr<PageTrap>> make_mprotect_trap(const TrapRange& range);

/// Whether a trap by userfaultfd can be made here, tried on a scratch file. Errors: as `make_uffd_trap`.
Status try_uffd();

}  // namespace grapnel::os
