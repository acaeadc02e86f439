// The program's signal dispositions, where UCX changed them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::transport::ucx {

/// Gives back the signals that UCX's library took when it was loaded (its constructor: HUP for its debugger, ILL, BUS,
/// FPE and SEGV for its backtraces): the disposition of before is in force again, be it the default, ignored or a
/// handler of the program. A signal that the user's environment names for UCX (UCX_DEBUG_SIGNO; UCX_HANDLE_ERRORS,
/// UCX_ERROR_SIGNALS) stays with it. Called when this library or program is loaded (ucx_transport.cpp); a further call
/// changes nothing. Must not run beside another thread that changes dispositions.
void give_back_signals();

}  // namespace grapnel::transport::ucx
