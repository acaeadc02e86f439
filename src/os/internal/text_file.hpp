// Small files of /proc and /sys as text.
#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace grapnel::os::internal {

/// The file's content, or nothing where it cannot be read.
inline std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return std::nullopt;
  return text;
}

}  // namespace grapnel::os::internal
