// What UCX answers, in our words.
//
// Threads: stateless, any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucs/type/status.h>

#include <string_view>

#include "grapnel/status.hpp"

namespace grapnel::transport::ucx {

/// `doing` names what was tried ("create a worker"). A status that means that the other side is gone becomes peer_dead.
Status to_status(ucs_status_t status, std::string_view doing);

/// The same for what this process does alone: never peer_dead, and with the limits of the process that are met (UCX
/// answers "Input/output error" for want of a descriptor or a thread).
Status to_local_status(ucs_status_t status, std::string_view doing);

}  // namespace grapnel::transport::ucx
