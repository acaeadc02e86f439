// A private folder for what the PMIx library wants to write; gone at the end of the job.
#pragma once

#include <string>

#include "grapnel/status.hpp"

namespace grapnel::tool {

/// A new folder under TMPDIR that only this user may enter. Errors: system.
Result<std::string> create_session_directory();

/// Removes it and everything in it. Both processes of a launcher call this: the second finds nothing.
void remove_session_directory(const std::string& path);

}  // namespace grapnel::tool
