// Where a thread runs, beyond what the kernel chooses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::os {

/// Moves the calling thread away from the CPU on which it runs, to another one where it may run, once: where it may run
/// stays as it was, so the kernel is free to move it again. False where there is no other. Costs some 20 µs. Any
/// thread.
bool leave_cpu();

/// The same to `cpu`. False where the calling thread may not run there.
bool move_to_cpu(int cpu);

}  // namespace grapnel::os
