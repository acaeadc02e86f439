// What we print in a program's name (log lines, the reason for a job's end, statistics), in a way that cannot end the
// program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace grapnel::base {

/// Writes all of `text` to the descriptor: continues after a signal, a part, and for a second at most where a
/// nonblocking descriptor has no room. Raises no SIGPIPE, whatever the program does with that signal. Answers 0, or the
/// errno of what could not be written. Any thread.
int write_all(int descriptor, std::string_view text);

}  // namespace grapnel::base
