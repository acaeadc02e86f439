// Objects by module and offset: the program and its libraries lie at other addresses in each process.
//
// A module is named by its file, the program by an empty name. Where no module of a process has that path, one with the
// same last part of it is taken: hosts may keep a library in different folders.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace grapnel::tmk {

struct Place {
  std::string module;
  std::uint64_t offset = 0;
};

/// None where no module has [object, +bytes) in data that stays writable.
std::optional<Place> place_of(const void* object, std::size_t bytes);

/// The same object in this process; null where there is none.
void* address_of(std::string_view module, std::uint64_t offset, std::size_t bytes);

/// "on the stack" and the like, for messages. Reads /proc/self/maps.
std::string kind_of_memory(const void* address);

}  // namespace grapnel::tmk
