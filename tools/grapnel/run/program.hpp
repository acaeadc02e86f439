// The program that is to be started, found and looked at before anything else happens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "grapnel/status.hpp"

namespace grapnel::tool {

/// The path that a shell would start for `name`. Errors: unavailable (no such program), refused (not executable).
Result<std::string> find_program(const std::string& name);

}  // namespace grapnel::tool
