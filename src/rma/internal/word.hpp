// A read-modify-write on a word of this process's memory. Local ranks and the server, for remote ranks, use these same
// instructions: the word is CPU-atomic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "rma/messages.hpp"

namespace grapnel::rma {

template <typename Word>
std::int64_t apply_to_word(RmwOperation operation, void* address, std::int64_t operand, std::int64_t expected) {
  const std::atomic_ref<Word> word(*static_cast<Word*>(address));
  // seq_cst throughout: users build locks and counters on these without further fences.
  switch (operation) {
    case RmwOperation::fetch_and_add: return word.fetch_add(static_cast<Word>(operand));
    case RmwOperation::swap: return word.exchange(static_cast<Word>(operand));
    case RmwOperation::compare_and_swap: {
      auto value = static_cast<Word>(expected);
      word.compare_exchange_strong(value, static_cast<Word>(operand));
      return value;
    }
  }
  return 0;
}

/// The old value, sign-extended. The address is aligned to `width_bytes` (4 or 8).
inline std::int64_t apply_rmw(RmwOperation operation, void* address, std::size_t width_bytes, std::int64_t operand,
                              std::int64_t expected) {
  return width_bytes == 4 ? apply_to_word<std::int32_t>(operation, address, operand, expected)
                          : apply_to_word<std::int64_t>(operation, address, operand, expected);
}

/// Sets the word of a signal. Release: a rank that reads the value (acquire) sees the data that was written before.
inline void set_signal(void* address, std::int32_t value) {
  std::atomic_ref<std::int32_t>(*static_cast<std::int32_t*>(address)).store(value, std::memory_order_release);
}

}  // namespace grapnel::rma
