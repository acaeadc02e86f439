// The process's handler of memory faults (SIGSEGV and SIGBUS): ranges of addresses whose faults a function resolves.
//
// Signal handlers belong to a process, so this table is the one global of the runtime (docs/decisions/faults.md). It is
// read without a lock. What lies in no range, and every fault of a child of fork, goes to the program's action: the one
// that was there before, or that `exchange_program_action` has set since.
//
// The function runs on the thread that faulted, with all asynchronous signals blocked; on its stack, unless the program
// had a handler on another one (SA_ONSTACK), which then has to be large enough for a message (64 KiB). It may send,
// wait and map; it must not touch the range itself, nor take a mutex under which a program touches it. `errno` is kept.
//
// Threads: `add` and `remove` one at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

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
/// As sigaction for SIGSEGV and SIGBUS, on the action that faults outside the ranges get: `before`, if not null, is
/// filled with it, then `next`, if not null, replaces it. Its mask is not used, nor SA_ONSTACK: it runs as the function
/// does. False: no range was added yet, or another signal; the caller calls sigaction. For front ends that wrap
/// sigaction. Any thread; async-signal-safe.
bool exchange_program_action(int number, const struct sigaction* next, struct sigaction* before);
/// No thread is in the range any more.
void remove_fault_range(std::uintptr_t begin);

/// How many faults of this process were left to the handler that was there before. Any thread.
std::uint64_t faults_passed_on();

}  // namespace grapnel::os
