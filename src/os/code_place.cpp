// SPDX-License-Identifier: Apache-2.0
#include "os/code_place.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

namespace grapnel::os {
namespace {

// The loader calls the program as its caller did, which may be any name of the file.
std::string path_of(const link_map& map) {
  if (map.l_name != nullptr && *map.l_name != '\0') return map.l_name;
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

std::string place_of_call(const void* return_address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(return_address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) {
    return {};
  }
  const std::string path = path_of(*map);
  // One less: the call may be the last instruction of its line.
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(return_address) - map->l_addr - 1;
  return fmt::format("{}+{:#x}", path.substr(path.find_last_of('/') + 1), offset);
}

}  // namespace grapnel::os
