// The words behind a member's memory, in which the others count: at the next cache line.
//
//   completed: by its origins │ posted, a word for each target: by that target        (words of sync/signals.hpp)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace grapnel::window {

inline constexpr std::size_t kControlAlignment = 64;

/// Of a member's control: where its origins count their completes, and where a target counts its posts to it.
inline std::byte* completed_word(std::byte* control) { return control; }
inline std::byte* posted_word(std::byte* control, int target) {
  return control + sizeof(std::uint32_t) * (static_cast<std::size_t>(target) + 1);
}

constexpr std::size_t control_offset(std::size_t user_bytes) {
  return (user_bytes + kControlAlignment - 1) / kControlAlignment * kControlAlignment;
}

/// What a member allocates. No user memory is so long that this overflows: SIZE_MAX stands for what is.
constexpr std::size_t control_bytes_behind(std::size_t user_bytes, int members) {
  const std::size_t words = sizeof(std::uint32_t) * (static_cast<std::size_t>(members) + 1);
  if (user_bytes > SIZE_MAX - words - kControlAlignment) return SIZE_MAX;
  return control_offset(user_bytes) + words;
}

}  // namespace grapnel::window
