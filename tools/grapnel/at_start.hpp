// What the `grapnel` command inherits, set right before anything else is done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::tool {

/// Descriptors 0 to 2 that are closed lead to /dev/null, so that nothing of ours gets their numbers; SIGCHLD has its
/// default, without which no child could be waited for; SIGHUP is what it was when the process was started (a nohup's
/// "ignored" stays), whatever a library has made of it since.
void set_right_what_was_inherited();

}  // namespace grapnel::tool
