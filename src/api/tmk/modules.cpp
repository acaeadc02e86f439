// SPDX-License-Identifier: Apache-2.0
#include "api/tmk/modules.hpp"

#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <span>

namespace grapnel::tmk {
namespace {

std::span<const ElfW(Phdr)> headers_of(const dl_phdr_info& module) { return {module.dlpi_phdr, module.dlpi_phnum}; }

std::string_view last_part(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

bool overlaps(std::uint64_t begin, std::size_t bytes, std::uint64_t other, std::size_t other_bytes) {
  return begin < other + other_bytes && other < begin + bytes;
}

/// Whether the module has this in a writable segment, and not in the part that is read-only once it is relocated, which
/// ends at a page.
bool has_data(const dl_phdr_info& module, std::uint64_t offset, std::size_t bytes) {
  bool found = false;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const ElfW(Phdr) & header : headers_of(module)) {
    if (header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0) {
      const std::uint64_t from = offset - header.p_vaddr;
      found = found || (offset >= header.p_vaddr && from < header.p_memsz && bytes <= header.p_memsz - from);
    } else if (header.p_type == PT_GNU_RELRO) {
      const std::uint64_t end = (header.p_vaddr + header.p_memsz) / page * page;
      if (end > header.p_vaddr && overlaps(offset, bytes, header.p_vaddr, end - header.p_vaddr)) return false;
    }
  }
  return found;
}

/// Calls `look(module)` for each until it returns true.
template <typename Look>
void for_each_module(Look look) {
  const auto call = [](dl_phdr_info* module, std::size_t, void* context) {
    return (*static_cast<Look*>(context))(*module) ? 1 : 0;
  };
  ::dl_iterate_phdr(call, &look);
}

}  // namespace

std::optional<Place> place_of(const void* object, std::size_t bytes) {
  std::optional<Place> place;
  for_each_module([&](const dl_phdr_info& module) {
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(object) - module.dlpi_addr;
    if (!has_data(module, offset, bytes)) return false;
    place = Place{module.dlpi_name, offset};
    return true;
  });
  return place;
}

void* address_of(std::string_view name, std::uint64_t offset, std::size_t bytes) {
  void* same_path = nullptr;
  void* same_file = nullptr;
  for_each_module([&](const dl_phdr_info& module) {
    if (last_part(module.dlpi_name) != last_part(name) || !has_data(module, offset, bytes)) return false;
    void* const object = reinterpret_cast<void*>(module.dlpi_addr + offset);
    if (module.dlpi_name == name) same_path = object;
    if (same_file == nullptr) same_file = object;
    return same_path != nullptr;
  });
  return same_path != nullptr ? same_path : same_file;
}

std::string kind_of_memory(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    int name_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %*s %n", &begin, &end, &name_at) < 2) continue;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (at < begin || at >= end) continue;
    const std::string name = line.substr(static_cast<std::size_t>(name_at));
    if (name == "[stack]") return "on the stack";
    if (name == "[heap]") return "in memory of malloc";
    if (name.empty()) return "in memory of malloc, of mmap or of a thread's stack";
    return "in constant data or in a mapping of " + name;
  }
  return "outside all memory";
}

}  // namespace grapnel::tmk
