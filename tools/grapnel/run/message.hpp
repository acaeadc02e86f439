// The one line that states why a job ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace grapnel::tool {

/// "grapnel run: text" on stderr in one write, so that lines of ranks do not mix in.
void say(std::string_view text);

/// `text` with a ? in the place of each control character: what a rank sends reaches a terminal as text and as no
/// more. Newlines and tabs become spaces; characters beyond ASCII stay.
std::string printable(std::string_view text);

/// "signal 9 (Killed)".
std::string signal_words(int signal);

/// "exited with code 2" or "was killed by signal 9 (Killed)", from wait's status.
std::string end_words(int wait_status);

/// wait's status as a shell would give it: the exit code, or 128 + signal.
int exit_code_of(int wait_status);

}  // namespace grapnel::tool
