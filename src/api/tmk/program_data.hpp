// The writable data of the program itself: what a process has to get from another one to go on from its state.
//
// Left out is what belongs to one process, as its libraries lie at other addresses there: what the linker copied from
// libraries (R_*_COPY: stdout, optind), and each word that it fills with an address of a library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace grapnel::tmk {

struct ProgramData {
  struct Range {
    std::byte* begin;
    std::size_t bytes;
  };
  std::uintptr_t address = 0;  ///< where the program was loaded; 0: where it was linked to
  std::vector<Range> ranges;   ///< ascending
  std::size_t bytes = 0;       ///< of all ranges

  /// The same in all processes that run the same file.
  static ProgramData find();

  /// Copies all ranges, one after the other.
  void copy_to(std::byte* to) const;
  void copy_from(const std::byte* from) const;
};

}  // namespace grapnel::tmk
