// SPDX-License-Identifier: Apache-2.0
#include "os/software_trap.hpp"

namespace grapnel::os {

Status SoftwareTrap::map(Pages pages, bool watched) {
  for (std::size_t at = pages.first; at < pages.first + pages.count; ++at) {
    if (states_[at] == State::unmapped) states_[at] = watched ? State::clean : State::written;
  }
  return {};
}

Status SoftwareTrap::unmap(Pages pages) {
  for (std::size_t at = pages.first; at < pages.first + pages.count; ++at) states_[at] = State::unmapped;
  return {};
}

Status SoftwareTrap::collect(std::span<const Pages> runs, std::vector<std::size_t>& written) {
  for (const Pages& run : runs) {
    for (std::size_t at = run.first; at < run.first + run.count; ++at) {
      if (states_[at] != State::written) continue;
      written.push_back(at);
      states_[at] = State::clean;
    }
  }
  return {};
}

}  // namespace grapnel::os
