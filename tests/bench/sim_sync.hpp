// The rows of `sync` that need virtual time.
#pragma once

#include <string>

namespace grapnel {

/// Measures and prints the row; false when it cannot, or nobody knows its name.
bool run_sync_row(const std::string& name, int runs);

}  // namespace grapnel
