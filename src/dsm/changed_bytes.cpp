// SPDX-License-Identifier: Apache-2.0
#include "dsm/changed_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <numeric>

#include "base/check.hpp"
#include "dsm/shared_page.hpp"
#include "os/cpu.hpp"

#if GRAPNEL_X86
#include <immintrin.h>
#endif

namespace grapnel::dsm {
namespace {

std::size_t offset_of(std::uint64_t lines) { return static_cast<std::size_t>(std::countr_zero(lines)) * kLineBytes; }

namespace portable {

GRAPNEL_SHARED_PAGE inline void store_word(std::byte* at, const std::byte* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(at), word, __ATOMIC_RELAXED);
}

// Fewer bytes than a word has, in at most three stores.
GRAPNEL_SHARED_PAGE inline void copy_part(std::byte* to, const std::byte* from, unsigned count) {
  if ((count & 4) != 0) std::memcpy(to, from, 4);
  to += count & 4, from += count & 4;
  if ((count & 2) != 0) std::memcpy(to, from, 2);
  to += count & 2, from += count & 2;
  if ((count & 1) != 0) *to = *from;
}

// Calls `whole(offset)` for each word of a line that has changed wholly, and `part(offset, count)` for each run of
// changed bytes of other words.
template <typename Whole, typename Part>
inline void for_each_word(std::uint64_t mask, Whole whole, Part part) {
  if (mask == ~std::uint64_t{0}) {
    for (std::size_t word = 0; word < kLineBytes; word += 8) whole(word);
    return;
  }
  for (std::size_t word = 0; mask != 0; word += 8) {
    const auto skipped = static_cast<std::size_t>(std::countr_zero(mask)) / 8 * 8;
    mask >>= skipped;
    word += skipped;
    auto bits = static_cast<unsigned>(mask & 0xff);
    mask >>= 8;
    if (bits == 0xff) {
      whole(word);
      continue;
    }
    while (bits != 0) {
      const auto first = static_cast<unsigned>(std::countr_zero(bits));
      part(word + first, static_cast<unsigned>(std::countr_one(bits >> first)));
      bits &= bits + (1U << first);
    }
  }
}

GRAPNEL_SHARED_PAGE inline const std::byte* scatter(std::byte* line, std::uint64_t mask, const std::byte* from) {
  for_each_word(
      mask,
      [&](std::size_t at) {
        store_word(line + at, from);
        from += 8;
      },
      [&](std::size_t at, unsigned count) {
        copy_part(line + at, from, count);
        from += count;
      });
  return from;
}

inline std::byte* gather(std::byte* out, const std::byte* line, std::uint64_t mask) {
  for_each_word(
      mask,
      [&](std::size_t at) {
        std::memcpy(out, line + at, 8);
        out += 8;
      },
      [&](std::size_t at, unsigned count) {
        copy_part(out, line + at, count);
        out += count;
      });
  return out;
}

// Calls `line(offset, changed bytes)`.
template <typename Line>
inline void for_each_line(const Changes& changes, Line line) {
  const std::uint64_t* mask = changes.bytes.data();
  for (std::uint64_t left = changes.lines; left != 0; left &= left - 1) line(offset_of(left), *mask++);
}

std::byte* gather(std::byte* out, const std::byte* memory, const Changes& changes) {
  for_each_line(changes, [&](std::size_t at, std::uint64_t mask) { out = gather(out, memory + at, mask); });
  return out;
}

void scatter(std::byte* page, const std::byte* bytes, const Changes& changes) {
  for_each_line(changes, [&](std::size_t at, std::uint64_t mask) { bytes = scatter(page + at, mask, bytes); });
}

void place(std::byte* page, const std::byte* memory, const Changes& changes) {
  for_each_line(changes, [&](std::size_t line, std::uint64_t mask) {
    for_each_word(
        mask, [&](std::size_t at) { store_word(page + line + at, memory + line + at); },
        [&](std::size_t at, unsigned count) { copy_part(page + line + at, memory + line + at, count); });
  });
}

using Words = std::uint64_t __attribute__((vector_size(16)));

// Of two words, summed in eight parts: x86-64's baseline has no instruction for it.
inline Words bits_set(Words words) {
  constexpr Words kOnes = {0x5555555555555555, 0x5555555555555555}, kPairs = {0x3333333333333333, 0x3333333333333333},
                  kNibbles = {0x0f0f0f0f0f0f0f0f, 0x0f0f0f0f0f0f0f0f},
                  kBytes = {0x00ff00ff00ff00ff, 0x00ff00ff00ff00ff};
  words -= words >> 1 & kOnes;
  words = (words & kPairs) + (words >> 2 & kPairs);
  words = (words + (words >> 4)) & kNibbles;
  return (words & kBytes) + (words >> 8 & kBytes);
}

std::size_t count(const std::byte* words, std::size_t count) {
  Words sums{};
  for (; count >= 2; count -= 2, words += sizeof(Words)) {
    Words two;
    std::memcpy(&two, words, sizeof two);
    sums += bits_set(two);
  }
  if (count == 1) {
    std::uint64_t last;
    std::memcpy(&last, words, sizeof last);
    sums += bits_set(Words{last, 0});
  }
  const std::uint64_t sum = sums[0] + sums[1];
  return (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32 & 0xffff) + (sum >> 48);
}

}  // namespace portable

#if GRAPNEL_X86
#define GRAPNEL_LINES __attribute__((target("avx512bw,avx512vbmi2,avx512vpopcntdq,bmi2,popcnt")))
namespace avx512 {

GRAPNEL_LINES std::byte* gather(std::byte* out, const std::byte* memory, const Changes& changes) {
  const std::uint64_t* mask = changes.bytes.data();
  for (std::uint64_t left = changes.lines; left != 0; left &= left - 1, ++mask) {
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(*mask, _mm512_loadu_si512(memory + offset_of(left))));
    out += __builtin_popcountll(*mask);
  }
  return out;
}

// Behind the last of the bytes nothing is read: the message may end there.
GRAPNEL_SHARED_PAGE GRAPNEL_LINES void scatter(std::byte* page, const std::byte* bytes, const Changes& changes) {
  const std::uint64_t* mask = changes.bytes.data();
  for (std::uint64_t left = changes.lines; left != 0; left &= left - 1, ++mask) {
    const auto count = static_cast<unsigned>(__builtin_popcountll(*mask));
    const __m512i packed = _mm512_maskz_loadu_epi8(_bzhi_u64(~std::uint64_t{0}, count), bytes);
    _mm512_mask_storeu_epi8(page + offset_of(left), *mask, _mm512_maskz_expand_epi8(*mask, packed));
    bytes += count;
  }
}

GRAPNEL_SHARED_PAGE GRAPNEL_LINES void place(std::byte* page, const std::byte* memory, const Changes& changes) {
  const std::uint64_t* mask = changes.bytes.data();
  for (std::uint64_t left = changes.lines; left != 0; left &= left - 1, ++mask) {
    _mm512_mask_storeu_epi8(page + offset_of(left), *mask, _mm512_loadu_si512(memory + offset_of(left)));
  }
}

GRAPNEL_LINES std::size_t count(const std::byte* masks, std::size_t lines) {
  __m512i sum = _mm512_setzero_si512();
  for (std::size_t at = 0; at < lines; at += 8) {
    const auto left = static_cast<unsigned>(std::min<std::size_t>(lines - at, 8));
    const auto these = static_cast<__mmask8>(_bzhi_u32(0xff, left));
    sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_maskz_loadu_epi64(these, masks + 8 * at)));
  }
  alignas(64) std::uint64_t sums[8];
  _mm512_store_si512(sums, sum);
  return std::accumulate(std::begin(sums), std::end(sums), std::size_t{0});
}

}  // namespace avx512
#undef GRAPNEL_LINES
#endif

constexpr ChangedBytesMethod kMethods[] = {
    {"portable", portable::gather, portable::scatter, portable::place, portable::count},
#if GRAPNEL_X86
    {"avx512", avx512::gather, avx512::scatter, avx512::place, avx512::count},
#endif
};

void assert_sound([[maybe_unused]] const Changes& changes) {
  GRAPNEL_ASSERT(changes.count == static_cast<std::size_t>(std::popcount(changes.lines)),
                 "masks of {} lines; the bits {:#x} name others", changes.count, changes.lines);
}

const ChangedBytesMethod kMethod = changed_bytes_methods().back();

}  // namespace

std::span<const ChangedBytesMethod> changed_bytes_methods() {
  return std::span(kMethods).first(os::vectors_here() >= os::VectorSet::avx512 ? std::size(kMethods) : 1);
}

std::byte* gather(std::byte* out, const std::byte* memory, const Changes& changes) {
  assert_sound(changes);
  return kMethod.gather(out, memory, changes);
}

void scatter(std::byte* page, const std::byte* bytes, const Changes& changes) {
  assert_sound(changes);
  kMethod.scatter(page, bytes, changes);
}

void place(std::byte* page, const std::byte* memory, const Changes& changes) {
  assert_sound(changes);
  kMethod.place(page, memory, changes);
}

std::size_t changed_count(const std::byte* masks, std::size_t lines) { return kMethod.count(masks, lines); }

}  // namespace grapnel::dsm
