// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "base/output.hpp"

namespace grapnel::tool {

bool print(std::string_view command, std::string_view text) {
  const int error = base::write_all(STDOUT_FILENO, text);
  if (error != 0) complain(command, fmt::format("standard output cannot be written: {}", std::strerror(error)));
  return error == 0;
}

void complain(std::string_view command, std::string_view text) {
  (void)base::write_all(STDERR_FILENO, fmt::format("{}: {}\n", command, text));
}

std::string json_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += fmt::format("\\{}", c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace grapnel::tool
