// SPDX-License-Identifier: Apache-2.0
#include "run/program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace grapnel::tool {
namespace {

bool is_file(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && !S_ISDIR(about.st_mode);
}

bool is_folder(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

bool is_program(const std::string& path) { return is_file(path) && ::access(path.c_str(), X_OK) == 0; }

}  // namespace

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_program(name)) return name;
    if (is_folder(name)) {
      return Status(Code::refused, fmt::format("{} is a folder; the program is to be named, as in {}{}program", name,
                                               name, name.back() == '/' ? "" : "/"));
    }
    if (is_file(name)) return Status(Code::refused, fmt::format("{} is not executable (chmod +x?)", name));
    return Status(Code::unavailable, fmt::format("there is no program {}", name));
  }
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_program(candidate)) return candidate;
  }
  std::string hint = is_file(name) ? fmt::format(" (write ./{} for the one in this folder)", name) : "";
  if (is_folder(name)) hint = fmt::format(" ({} in this folder is a folder)", name);
  return Status(Code::unavailable, fmt::format("there is no program {} in PATH{}", name, hint));
}

}  // namespace grapnel::tool
