// What the command prints: results on stdout, where one that cannot be written is an error, and complaints on stderr.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace grapnel::tool {

/// Writes `text` on stdout. False, after one line on stderr, where it could not be written whole.
bool print(std::string_view command, std::string_view text);

/// "command: text" on stderr, in one write.
void complain(std::string_view command, std::string_view text);

/// A string of JSON, with its quotes.
std::string json_quoted(std::string_view text);

}  // namespace grapnel::tool
