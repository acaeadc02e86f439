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

}  // namespace grapnel::tool
