// Small files of /proc and /sys as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "os/descriptor.hpp"

namespace grapnel::os::internal {

/// The file's content, or nothing where it cannot be read. Plain reads: an allocation reads a dozen such files.
inline std::optional<std::string> read_text_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t got = ::read(file.number(), piece, sizeof piece);
    if (got == 0) return text;
    if (got > 0) {
      text.append(piece, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return std::nullopt;
    }
  }
}

}  // namespace grapnel::os::internal
