// Where a page differs from its twin, byte by byte: what a diff carries, and what a merge writes.
//
// Pages are written by programs while they are compared, so each place is loaded once (invariant 4 of docs/dsm.md):
// what was compared becomes the twin. The loop exists for each instruction set (os/cpu.hpp has the choice).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "os/page_trap.hpp"

namespace grapnel::dsm {

inline constexpr std::size_t kLineBytes = 64;
inline constexpr std::size_t kLines = os::kPageBytes / kLineBytes;

struct Changes {
  std::uint64_t lines = 0;                  ///< bit i: line i of 64 bytes has changed bytes
  std::size_t count = 0;                    ///< of those lines
  std::array<std::uint64_t, kLines> bytes;  ///< of each of those lines: bit j: byte j has changed
};

/// Compares `page`, of any alignment, with `twin`, which is then equal to what was seen of the page.
using FindChanges = void (*)(const std::byte* page, std::byte* twin, Changes& changes);

struct ChangesMethod {
  const char* name;
  FindChanges find;
};

/// All that run on this processor, the best last; for tests and measurements.
std::span<const ChangesMethod> changes_methods();

/// By the best one.
void find_changes(const std::byte* page, std::byte* twin, Changes& changes);

}  // namespace grapnel::dsm
