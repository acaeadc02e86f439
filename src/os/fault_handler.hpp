// The process's handler of memory faults (SIGSEGV and SIGBUS): ranges of addresses whose faults a function resolves.
//
// Signal handlers belong to a process, so this table is the one global of the runtime (docs/decisions/faults.md). It is
// read without a lock. What lies in no range, and every fault of a child of fork, goes to the handler that was there
// before.
//
// The function runs on the thread that faulted, with all asynchronous signals blocked; on its stack, unless the program
// had a handler on another one (SA_ONSTACK), which then has to be large enough for a message (64 KiB). It may send,
// wait and map; it must not touch the range itself, nor take a mutex under which a program touches it. `errno` is kept.
//
// Threads: `add` and `remove` one at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "grapnel/status.hpp"

namespace grapnel::os {

/// What the access was that faulted, as far as the processor tells.
enum class Access : std::uint8_t { unknown, read, write };

using FaultFunction = void (*)(void* context, std::uintptr_t address, Access access);

inline constexpr std::size_t kMostFaultRanges = 8;

/// From now on faults in [begin, begin+bytes) go to `function`. Errors: unavailable (kMostFaultRanges are there),
/// system.
Status add_fault_range(std::uintptr_t begin, std::size_t bytes, FaultFunction function, void* context);
/// No thread is in the range any more.
void remove_fault_range(std::uintptr_t begin);

/// How many faults of this process were left to the handler that was there before. Any thread.
std::uint64_t faults_passed_on();

}  // namespace grapnel::os
