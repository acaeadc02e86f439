// A private folder for what the PMIx library wants to write; gone at the end of the job.
//
// Both processes of a launcher know its name before one of them makes it: at no moment is there a folder whose name
// died with a process.
#pragma once

#include <string>

#include "grapnel/status.hpp"

namespace grapnel::tool {

/// A name under TMPDIR that nobody else has. Nothing is made yet.
std::string name_session_directory();

/// Makes it, for this user only. Errors: system.
Status create_session_directory(const std::string& path);

/// Removes it and everything in it. Both processes call this: the second finds nothing.
void remove_session_directory(const std::string& path);

}  // namespace grapnel::tool
