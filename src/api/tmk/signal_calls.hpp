// The signals of memory faults, which the shared heap needs: wrapped calls keep its handler, and keep them unblocked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::tmk {

/// Unblocks SIGSEGV and SIGBUS in the calling thread, which may have inherited a mask.
void unblock_fault_signals();

}  // namespace grapnel::tmk
