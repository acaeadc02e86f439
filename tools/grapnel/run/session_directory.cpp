#include "run/session_directory.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace grapnel::tool {

Result<std::string> create_session_directory() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/grapnel-run-XXXXXX", parent != nullptr && *parent != '\0' ? parent : "/tmp");
  if (::mkdtemp(path.data()) == nullptr) {
    return Status(Code::system, fmt::format("cannot make a folder {}: {} (TMPDIR chooses another place)", path,
                                            std::strerror(errno)));
  }
  return path;
}

void remove_session_directory(const std::string& path) {
  std::error_code ignored;  // what is left after this cannot be removed by us
  std::filesystem::remove_all(path, ignored);
}

}  // namespace grapnel::tool
