// Where an address of code lies: the file that it was loaded from, and the offset that `addr2line` takes.
//
// Threads: any; not from a signal handler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace grapnel::os {

/// The call that returns to `return_address`, as "sor+0x1f0": `addr2line -e sor 0x1f0` names the line. Empty where no
/// loaded file has that address.
std::string place_of_call(const void* return_address);

}  // namespace grapnel::os
