// Memory of a window that lies in no segment: what `create` brings, and what is attached to a dynamic window.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <utility>

#include "window/internal/services.hpp"
#include "window/window.hpp"

namespace grapnel::window {

Status Window::lend(const void* base, std::size_t bytes) {
  GRAPNEL_TRY(services_.lent.lend(base, bytes));
  attached_.emplace(static_cast<const std::byte*>(base), bytes);
  return {};
}

Status Window::take_back() {
  Status first;
  for (const auto& [base, bytes] : std::exchange(attached_, {})) {
    const Status taken = services_.lent.take_back(base, bytes);
    if (first.ok()) first = taken;
  }
  return first;
}

Outcome Window::attach(void* base, std::size_t bytes) {
  if (flavor_ != Flavor::dynamic) {
    return Outcome(Fault::flavor, "attach: the window is not dynamic; it has the memory that it was made with");
  }
  if (bytes == 0) return {};
  const auto* const begin = static_cast<const std::byte*>(base);
  const auto behind = attached_.upper_bound(begin);
  const std::less<> before;
  const bool meets_next = behind != attached_.end() && before(behind->first, begin + bytes);
  const bool meets_last =
      behind != attached_.begin() && before(begin, std::prev(behind)->first + std::prev(behind)->second);
  if (meets_next || meets_last) {
    return Outcome(Fault::attach, fmt::format("attach: {} bytes at {} overlap memory that is attached", bytes, base));
  }
  return lend(base, bytes);
}

Outcome Window::detach(const void* base) {
  if (flavor_ != Flavor::dynamic) {
    return Outcome(Fault::flavor, "detach: the window is not dynamic; it has the memory that it was made with");
  }
  const auto found = attached_.find(static_cast<const std::byte*>(base));
  if (found == attached_.end()) {
    return Outcome(Fault::attach, fmt::format("detach: no memory was attached at {}", base));
  }
  const std::size_t bytes = found->second;
  attached_.erase(found);
  return services_.lent.take_back(base, bytes);
}

}  // namespace grapnel::window
