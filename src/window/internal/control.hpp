// The words behind a member's memory, in which the others count: at the next cache line. Behind those of a node's first
// member, at the next cache line, lies the node's block of the window's locks (locks/kinds/lock_memory.hpp).
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

constexpr std::size_t control_bytes(int members) {
  return sizeof(std::uint32_t) * (static_cast<std::size_t>(members) + 1);
}

constexpr std::size_t lock_block_offset(std::size_t user_bytes, int members) {
  return control_offset(control_offset(user_bytes) + control_bytes(members));
}

/// What a member allocates. No user memory is so long that this overflows: SIZE_MAX means more than fits.
constexpr std::size_t part_bytes(std::size_t user_bytes, int members, std::size_t lock_block_bytes) {
  const std::size_t behind = control_bytes(members) + lock_block_bytes + 2 * kControlAlignment;
  if (user_bytes > SIZE_MAX - behind) return SIZE_MAX;
  if (lock_block_bytes != 0) return lock_block_offset(user_bytes, members) + lock_block_bytes;
  return control_offset(user_bytes) + control_bytes(members);
}

}  // namespace grapnel::window
