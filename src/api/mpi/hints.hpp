// The hints of a window: MPI 3.1's keys, and three of this library.
//
//   key                       takes                 does
//   grapnel                   off                   the window stays the host's
//   grapnel_lock              a kind of lock        its locks are of that kind (docs/locks.md)
//   grapnel_lock_domain       processor, network    what updates its locks
//   no_locks                  true, false           there are no locks, and no memory for them
//   alloc_shared_noncontig    true, false           each part of shared memory begins at a page
//   same_disp_unit            true, false           one unit is kept for all members
//   same_size, accumulate_ordering, accumulate_ops: kept for MPI_Win_get_info; nothing depends on them
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <map>
#include <optional>
#include <string>

#include "grapnel/lock.hpp"

namespace grapnel::front {

using Hints = std::map<std::string, std::string>;

/// MPI's defaults, in force where the program gives no hint.
Hints default_hints(bool shared_memory);
/// The keys of `info` that windows know, over `hints`; values that a key does not take are left out, as MPI wants it.
void add_hints(Hints& hints, MPI_Info info);
bool is_true(const Hints& hints, const char* key);
/// Of grapnel_lock.
std::optional<LockKind> lock_kind(const Hints& hints);
/// Of grapnel_lock_domain.
std::optional<AtomicDomain> lock_domain(const Hints& hints);

}  // namespace grapnel::front
