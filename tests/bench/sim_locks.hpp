// The rows of `locks` that need virtual time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace grapnel {

/// Measures and prints the row; false when it cannot, or its name is unknown.
bool run_lock_row(const std::string& name, int runs);

}  // namespace grapnel
