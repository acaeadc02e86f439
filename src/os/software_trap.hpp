// A trap without a page table, for simulated worlds: a program's accesses ask it (dsm::Heap::load and store).
//
// Threads: as os/page_trap.hpp; accesses by the rank's own thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "os/page_trap.hpp"

namespace grapnel::os {

class SoftwareTrap final : public PageTrap {
 public:
  explicit SoftwareTrap(std::size_t pages) : states_(pages, State::unmapped) {}

  Status map(Pages pages, bool watched) override;
  Status unmap(Pages pages) override;
  Status collect(std::span<const Pages> runs, std::vector<std::size_t>& written) override;
  bool take_write(std::size_t) override { return false; }

  /// Whether the access goes through; a write is noted then. Else it is a fault.
  bool access(std::size_t page, bool is_write) {
    if (states_[page] == State::unmapped) return false;
    if (is_write) states_[page] = State::written;
    return true;
  }

 private:
  enum class State : unsigned char { unmapped, clean, written };
  std::vector<State> states_;
};

}  // namespace grapnel::os
