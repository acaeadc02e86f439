// The copy of the shared-memory path: the fastest one for the size and alignment (docs/kernels.md has the choice and
// the reasons).
//
// Threads: any. Invariants:
//  1. A copy of exactly 1, 2, 4 or 8 bytes is one load and one store of that width. Where the destination is aligned to
//     the width, a reader that polls it without a lock sees the old word or the new one, never a mixture, and a word is
//     written once. No other size promises anything to such a reader: parts may be written twice, and in any order.
//  2. No byte outside [destination, destination+bytes) is written or outside [source, source+bytes) is read.
//  3. When a copy returns, its stores are ordered before later stores of the caller, as plain stores are: non-temporal
//     copies end with a store fence.
//  4. `rep movsb` is used on Zen 5 only: other processors fall to a thirtieth of the bandwidth where (destination −
//     source) mod 4096 is small (the trap of glibc 2.36's memcpy).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace grapnel::rma {

/// The out-of-line part for one instruction set. `copy` takes more than kInlineCopyBytes; `copy_rows` takes any row.
struct CopyMethods {
  const char* name;
  void (*copy)(std::byte* destination, const std::byte* source, std::size_t bytes);
  void (*copy_rows)(std::byte* destination, std::ptrdiff_t destination_stride, const std::byte* source,
                    std::ptrdiff_t source_stride, std::size_t row_bytes, std::size_t rows);
};

/// Chosen once from the processor, before main and before static objects of ordinary priority.
extern const CopyMethods kCopyMethods;

/// All that run on this processor, for tests and measurements.
std::span<const CopyMethods> copy_methods();

/// Copies of at least this size bypass the caches on the way to the destination.
std::size_t nontemporal_from_bytes();

inline constexpr std::size_t kInlineCopyBytes = 64;

namespace detail {

#if defined(__SANITIZE_THREAD__)
#define GRAPNEL_COPY_ATOMIC_WORDS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GRAPNEL_COPY_ATOMIC_WORDS 1
#endif
#endif

/// Invariant 1. Volatile, because only that binds the compiler to one access of this width.
template <typename Word>
inline void copy_word(void* destination, const void* source) {
  using Anywhere [[gnu::aligned(1), gnu::may_alias]] = Word;
#if defined(GRAPNEL_COPY_ATOMIC_WORDS)
  // The thread sanitizer needs what the processor does anyway. Partner: the thread that polls or updates the word.
  if ((reinterpret_cast<std::uintptr_t>(destination) | reinterpret_cast<std::uintptr_t>(source)) % sizeof(Word) == 0) {
    const Word word = __atomic_load_n(static_cast<const Word*>(source), __ATOMIC_RELAXED);
    __atomic_store_n(static_cast<Word*>(destination), word, __ATOMIC_RELAXED);
    return;
  }
#endif
  *static_cast<volatile Anywhere*>(destination) = *static_cast<const volatile Anywhere*>(source);
}

/// `kBytes` to 2·kBytes of them: two registers that overlap, both loaded before the first store.
template <std::size_t kBytes>
inline void copy_ends(std::byte* destination, const std::byte* source, std::size_t bytes) {
  struct Register {
    std::byte content[kBytes];
  } first, last;
  std::memcpy(&first, source, kBytes);
  std::memcpy(&last, source + bytes - kBytes, kBytes);
  std::memcpy(destination, &first, kBytes);
  std::memcpy(destination + bytes - kBytes, &last, kBytes);
}

/// Up to kInlineCopyBytes, but not 8.
inline void copy_small(std::byte* destination, const std::byte* source, std::size_t bytes) {
  if (bytes > 32) return copy_ends<32>(destination, source, bytes);
  if (bytes >= 16) return copy_ends<16>(destination, source, bytes);
  if (bytes > 8) return copy_ends<8>(destination, source, bytes);
  if (bytes == 4) return copy_word<std::uint32_t>(destination, source);
  if (bytes > 4) return copy_ends<4>(destination, source, bytes);
  if (bytes >= 2) copy_word<std::uint16_t>(destination, source);
  if (bytes % 2 != 0) copy_word<std::uint8_t>(destination + bytes - 1, source + bytes - 1);
}

}  // namespace detail

/// Copies `bytes` from `source` to `destination`, which do not overlap or are the same.
inline void copy(void* destination, const void* source, std::size_t bytes) {
  if (bytes == 8) [[likely]]
    return detail::copy_word<std::uint64_t>(destination, source);
  auto* const to = static_cast<std::byte*>(destination);
  const auto* const from = static_cast<const std::byte*>(source);
  if (bytes <= kInlineCopyBytes) return detail::copy_small(to, from, bytes);
  kCopyMethods.copy(to, from, bytes);
}

/// `rows` times a row of `row_bytes`, each side at its stride. Rows of 1, 2, 4 and 8 bytes keep invariant 1.
inline void copy_rows(void* destination, std::ptrdiff_t destination_stride, const void* source,
                      std::ptrdiff_t source_stride, std::size_t row_bytes, std::size_t rows) {
  kCopyMethods.copy_rows(static_cast<std::byte*>(destination), destination_stride,
                         static_cast<const std::byte*>(source), source_stride, row_bytes, rows);
}

}  // namespace grapnel::rma
