// Which build of Grapnel this is. The ranks of a job take one: messages and shared memory have one layout only
// there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace grapnel::base {

/// "0.2.0".
const char* build_version();
/// A sum over the sources (cmake/BuildId.cmake), in hexadecimal digits.
const char* build_id();

/// Both, as they are named in messages: "0.2.0 (build 5f3a91c04d17)".
const std::string& build_name();

}  // namespace grapnel::base
