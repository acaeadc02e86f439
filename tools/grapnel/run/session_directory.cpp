#include "run/session_directory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "os/identity.hpp"

namespace grapnel::tool {

std::string name_session_directory() {
  const char* parent = std::getenv("TMPDIR");
  return fmt::format("{}/grapnel-run-{:016x}", parent != nullptr && *parent != '\0' ? parent : "/tmp",
                     os::random_u64());
}

Status create_session_directory(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return {};
  return Status(Code::system, fmt::format("cannot make the folder {}: {} (TMPDIR chooses another place)", path,
                                          std::strerror(errno)));
}

void remove_session_directory(const std::string& path) {
  std::error_code ignored;  // what is left after this cannot be removed by us
  std::filesystem::remove_all(path, ignored);
}

}  // namespace grapnel::tool
